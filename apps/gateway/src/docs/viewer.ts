import { createReadStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';

// Swagger UI from its npm package, read from the disk when somebody asks for it: a gateway that nobody reads pays nothing.

const require = createRequire(import.meta.url);

/** Addresses are relative: the page also works where a proxy puts the shop under a path. */
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

/** In a file of its own, so that the page needs no inline script. Examples of the demo data are in the README. */
const initializer = `SwaggerUIBundle({
  url: new URL('v3/openapi.json', document.baseURI).href,
  dom_id: '#api',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

const types = {
  'docs.js': 'text/javascript; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;
type ViewerFile = keyof typeof types;

export const isViewerFile = (name: string): name is ViewerFile => Object.hasOwn(types, name);

let known: string | undefined;
/** Changes with the gateway's release: the viewer's version, and the gateway's for what is its own. */
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

export const openViewerFile = (name: ViewerFile): OpenedFile => ({
  type: types[name],
  etag: `"${versions()}"`,
  content: () =>
    name === 'docs.js' ? Readable.from([initializer]) : createReadStream(require.resolve(`swagger-ui-dist/${name}`)),
});
