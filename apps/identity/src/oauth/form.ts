import type { Readable } from 'node:stream';
import type { Provider } from 'oidc-provider';

/** Koa's request context in middleware that runs before the provider. */
export type PageContext = Parameters<Parameters<Provider['use']>[0]>[0];

/** Reads the whole body as text. @returns undefined when it is longer than `maxBytes` */
export async function readForm(request: Readable, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBytes) chunks.push(chunk);
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}

/**
 * Parses the fields of a form.
 * @returns undefined when a field is repeated or contains NUL: no page sends that, and Postgres text cannot hold NUL
 */
export function fieldsOf(form: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(form)) {
    if (fields.has(name) || value.includes('\0')) return undefined;
    fields.set(name, value);
  }
  return fields;
}
