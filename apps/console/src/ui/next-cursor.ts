/** Returns the cursor of a list's next page from its `Link` header; undefined on the last page. */
export function nextCursor(response: Response): string | undefined {
  const address = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  return address === undefined ? undefined : (new URL(address, location.origin).searchParams.get('cursor') ?? undefined);
}
