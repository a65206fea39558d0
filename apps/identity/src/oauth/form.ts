import type { Readable } from 'node:stream';
import type { Provider } from 'oidc-provider';

/** A request as middleware sees it, before the provider has looked at it. */
export type PageContext = Parameters<Parameters<Provider['use']>[0]>[0];

/** The whole body as text. @returns undefined when it is longer */
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
 * Fields of a form that holds each at most once.
 * @returns undefined when one is repeated, or holds a NUL: no page sends that, and Postgres takes it for no text
 */
export function fieldsOf(form: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(form)) {
    if (fields.has(name) || value.includes('\0')) return undefined;
    fields.set(name, value);
  }
  return fields;
}
