import { createReadStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';

// Swagger UI from its npm package. Files are read from disk per request, so an unused viewer costs no memory.

const require = createRequire(import.meta.url);

/** Links are relative, so the page also works behind a proxy that adds a path prefix. */
export const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Plant shop API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/docs.js"></script>
</body>
</html>
`;

/**
 * The page's script; in a file of its own, so that the page needs no inline script.
 *
 * It rewrites the document's server address to the page's own. The document names one address of the shop; browsers would
 * block calls to it from a page opened at another one (localhost instead of 127.0.0.1, say).
 */
const initializer = (clientId: string): string => `const home = new URL('.', document.baseURI).href.replace(/\\/$/, '');
const description = home + '/v3/openapi.json';

function calledHere(text) {
  const named = JSON.parse(text).servers[0].url.replace(/\\/v3$/, '');
  const isCalled = (key, value) => (key === 'url' || key === 'tokenUrl') && String(value).startsWith(named);
  return JSON.stringify(JSON.parse(text, (key, value) => (isCalled(key, value) ? home + value.slice(named.length) : value)));
}

SwaggerUIBundle({
  url: description,
  responseInterceptor: (response) => {
    if (response.ok && response.url === description) response.text = calledHere(response.text);
    return response;
  },
  oauth2RedirectUrl: home + '/docs/oauth2-redirect.html',
  dom_id: '#api',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
}).initOAuth(${JSON.stringify({ usePkceWithAuthorizationCodeGrant: true, ...(clientId !== '' && { clientId }) })});
`;

const types = {
  'docs.js': 'text/javascript; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
  // The redirect URI of OAuth clients that are used from the page.
  'oauth2-redirect.html': 'text/html; charset=utf-8',
  'oauth2-redirect.js': 'text/javascript; charset=utf-8',
} as const;
type ViewerFile = keyof typeof types;

export const isViewerFile = (name: string): name is ViewerFile => Object.hasOwn(types, name);

let known: string | undefined;
/** Returns the versions of the viewer and the gateway, which determine the content of all files. */
function versions(): string {
  known ??= ['swagger-ui-dist/package.json', '../../package.json']
    .map((file) => (JSON.parse(readFileSync(require.resolve(file), 'utf8')) as { version: string }).version)
    .join('-');
  return known;
}

export interface OpenedFile {
  readonly type: string;
  readonly etag: string;
  readonly content: () => Readable;
}

/** @param clientId fills in "Authorize"; empty for none */
export const openViewerFile = (name: ViewerFile, clientId: string): OpenedFile => ({
  type: types[name],
  etag: `"${versions()}${name === 'docs.js' ? `-${clientId}` : ''}"`,
  content: () =>
    name === 'docs.js' ? Readable.from([initializer(clientId)]) : createReadStream(require.resolve(`swagger-ui-dist/${name}`)),
});
