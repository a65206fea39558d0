/** Returns the path of a request target, without query and origin: both may contain secrets (a password before the @). */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}
