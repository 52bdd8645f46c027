// Converts the document to a Postman collection. Postman does the same when a user imports it with the example parameters and
// without the optional ones.
import { readFileSync, writeFileSync } from 'node:fs';
import converter from 'openapi-to-postmanv2';

const generated = new URL('./generated/', import.meta.url);
const options = { folderStrategy: 'Tags', parametersResolution: 'Example', enableOptionalParameters: false };
const input = { type: 'string', data: readFileSync(new URL('openapi.json', generated), 'utf8') };
converter.convertV2(input, options, (error, converted) => {
  const collection = converted?.output?.[0]?.data;
  if (error !== null || collection === undefined) throw new Error(String(error ?? converted?.reason));
  writeFileSync(new URL('collection.json', generated), JSON.stringify(collection));
});
