type OnProgress = (part: number) => void;

const watched = new WeakMap<File, OnProgress>();

/** Reports the progress of this file's upload, from 0 to 1. */
export function watchUpload(file: File, onProgress: OnProgress): void {
  watched.set(file, onProgress);
}

/** `fetch`, or `XMLHttpRequest` for a form with a watched file: only that reports upload progress. */
export const fetchOrUpload: typeof globalThis.fetch = (input, init) => {
  const body = init?.body;
  const file = body instanceof FormData ? body.get('file') : undefined;
  const onProgress = file instanceof File ? watched.get(file) : undefined;
  return onProgress && init ? upload(input, init, onProgress) : globalThis.fetch(input, init);
};

const upload = (input: RequestInfo | URL, { method = 'POST', headers, body, signal }: RequestInit, onProgress: OnProgress): Promise<Response> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, input instanceof Request ? input.url : input);
    request.responseType = 'blob';
    for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => {
      if (total > 0) onProgress(loaded / total);
    };
    const abort = (): void => request.abort();
    signal?.addEventListener('abort', abort);
    request.onloadend = () => signal?.removeEventListener('abort', abort);
    request.onload = () => resolve(new Response(request.response as Blob, { status: request.status, headers: headersOf(request) }));
    request.onerror = () => reject(new TypeError('The connection was lost.'));
    request.onabort = () => reject((signal?.reason as Error | undefined) ?? new DOMException('The upload was aborted.', 'AbortError'));
    if (signal?.aborted === true) reject(signal.reason as Error);
    else request.send(body as XMLHttpRequestBodyInit);
  });

function headersOf(request: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
