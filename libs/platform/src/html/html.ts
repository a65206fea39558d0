/** HTML that needs no escaping. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | Html | readonly Html[] | undefined;

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (one) => escapes[one] ?? one);

const rendered = (part: Part): string => {
  if (part === undefined) return '';
  if (typeof part === 'string') return escaped(part);
  return part instanceof Html ? part.text : part.map(({ text }) => text).join('');
};

/** Template tag that escapes its values, unless they are `Html`. */
export const html = (literals: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(literals.reduce((text, literal, n) => text + rendered(parts[n - 1]) + literal));
