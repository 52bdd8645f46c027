// Configures the client that orval generates: functions around fetch, for the first server of the document.
export default {
  transferService: {
    input: './generated/openapi.json',
    output: {
      target: './generated/orval.ts',
      client: 'fetch',
      baseUrl: { getBaseUrlFromSpecification: true },
    },
  },
};
