import { Empty } from '../../components/empty.tsx';

/** Asks for a key: instead of the console, or over it when a session has ended and the view is to stay. */
export function SignInScreen({
  reason,
}: {
  readonly reason: 'none' | 'ended';
  /** To be called once there is a session. */
  readonly onSignedIn: () => void;
}) {
  return (
    <Empty title={reason === 'ended' ? 'Your session has ended' : 'Sign in'}>This screen is under construction.</Empty>
  );
}
