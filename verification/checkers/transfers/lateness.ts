/** Measures the longest time that this process, with its clients, did not run, in milliseconds. */
export function watchLateness(): { readonly end: () => number } {
  let lastAt = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - lastAt);
    lastAt = now;
  };
  const timer = setInterval(look, 5);
  return {
    end: () => {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}
