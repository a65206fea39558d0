import { readdirSync, readFileSync } from 'node:fs';
import { type MailKind, accountMailKinds, orderMailKinds } from '@plant-shop/contracts/notifications';
import type { MailOptions } from '../options.js';

// The texts of mails: a file per kind in `templates/<locale>`. The first line is the subject. Paragraphs are separated by empty lines;
// `[words]({{link}})` alone in a paragraph is a link. `{{name}}` is a value of the mail, or `{{shop}}`. A line with a value that the mail
// does not have is left out. Plain text and HTML are made of the same file.

const folder = new URL('../../templates/', import.meta.url);

export const locales = readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));
export const mailKinds: readonly MailKind[] = [...accountMailKinds, ...orderMailKinds];

export interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A mail that lacks something that its text needs. */
export class IncompleteMail extends Error {}

type Values = Readonly<Record<string, string | undefined>>;

const placeholder = /\{\{(\w+)\}\}/g;
const linkForm = /^\[([^\]]+)\]\(\{\{(\w+)\}\}\)$/;

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

/** Returns a line with its values; undefined if one is missing. @param show makes text of a value or of the line's own words */
function fill(line: string, values: Values, show: (text: string) => string): string | undefined {
  const parts = line.split(placeholder);
  // `split` puts the names in the odd places.
  const shown = parts.map((part, n) => (n % 2 === 0 ? part : values[part]));
  return shown.includes(undefined) ? undefined : shown.map((one) => show(one ?? '')).join('');
}

/** The values that are times, as RFC 3339. Others may look like one: users choose the names of keys and devices. */
const times: ReadonlySet<string> = new Set(['at', 'reservedUntil']);

/** Longest value in a text: names of users and devices may be any text. */
const maxChars = 200;

/** Writes times for people, in UTC, durations in hours if they are long, and makes other values short and one line. */
function readable(values: Values, locale: string): Values {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const count = (unit: 'hour' | 'minute', value: number): string => new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(value);
  const lasting = (minutes: number): string => (minutes < 120 ? count('minute', minutes) : count('hour', Math.floor(minutes / 60)));
  const shown = (name: string, value: string): string => {
    if (name === 'minutes' && /^\d{1,6}$/.test(value)) return lasting(Number(value));
    const at = times.has(name) ? Date.parse(value) : Number.NaN;
    return Number.isNaN(at) ? value.replaceAll(/\p{C}+/gu, ' ').slice(0, maxChars) : `${format.format(at)} UTC`;
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === undefined || name === 'link' ? value : shown(name, value)]));
}

function linkIn(values: Values, name: string): string {
  const link = values[name] ?? '';
  if (!URL.canParse(link) || !/^https?:$/.test(new URL(link).protocol)) throw new IncompleteMail(`the mail has no ${name}`);
  return link;
}

/** The texts of one language. */
export class Templates {
  private readonly layout: string;
  private readonly files: ReadonlyMap<MailKind, string>;

  /** @throws Error if the language lacks a file */
  constructor(
    private readonly shop: MailOptions['shop'],
    private readonly locale = 'en',
  ) {
    const read = (name: string): string => readFileSync(new URL(`${locale}/${name}`, folder), 'utf8').trim();
    this.layout = read('layout.html');
    this.files = new Map(mailKinds.map((kind) => [kind, read(`${kind}.txt`)]));
  }

  /** @throws IncompleteMail if the mail lacks a link that its text has */
  render(kind: MailKind, given: Values): RenderedMail {
    const [subjectLine = '', ...paragraphs] = (this.files.get(kind) ?? '').split(/\n{2,}/);
    const values = { ...readable(given, this.locale), shop: this.shop.name };
    const subject = fill(subjectLine, values, (text) => text);
    if (subject === undefined) throw new IncompleteMail('the mail has no value that its subject needs');
    const end = [this.shop.name, ...this.shop.address].filter((line) => line !== '');
    const html: Values = {
      locale: this.locale,
      subject: escapeHtml(subject),
      body: paragraphs.map((one) => this.htmlOf(one, values)).join('\n'),
      end: end.map(escapeHtml).join('<br>'),
    };
    return {
      subject,
      text: `${paragraphs.map((one) => textOf(one, values)).filter((one) => one !== '').join('\n\n')}\n\n-- \n${end.join('\n')}\n`,
      html: `${fill(this.layout, html, (text) => text) ?? ''}\n`,
    };
  }

  private htmlOf(paragraph: string, values: Values): string {
    const [, words, name] = linkForm.exec(paragraph) ?? [];
    if (words !== undefined && name !== undefined) {
      const style = `display:inline-block;padding:10px 18px;border-radius:6px;background:${this.shop.colour};color:#ffffff;text-decoration:none`;
      return `<p style="margin:24px 0"><a href="${escapeHtml(linkIn(values, name))}" style="${style}">${escapeHtml(words)}</a></p>`;
    }
    const lines = filledLines(paragraph, values, escapeHtml);
    return lines.length === 0 ? '' : `<p style="margin:0 0 16px">${lines.join('<br>\n')}</p>`;
  }
}

function textOf(paragraph: string, values: Values): string {
  const [, words, name] = linkForm.exec(paragraph) ?? [];
  if (words !== undefined && name !== undefined) return `${words}:\n${linkIn(values, name)}`;
  return filledLines(paragraph, values, (text) => text).join('\n');
}

const filledLines = (paragraph: string, values: Values, show: (text: string) => string): string[] =>
  paragraph.split('\n').flatMap((line) => fill(line, values, show) ?? []);

/** A value for each name that a text may have, for tests and previews. */
export const sampleValues: Readonly<Record<string, string>> = {
  link: 'https://shop.example/account?code=EXAMPLE',
  minutes: '30',
  username: 'ada',
  at: '2027-03-01T08:00:00.000Z',
  device: 'Firefox on Linux',
  network: '192.0.2.0/24',
  keyName: 'warehouse',
  factor: 'passkey',
  codesLeft: '9',
  role: 'staff',
  orderId: '1000000001',
  plantId: '7',
  quantity: '2',
  reservedUntil: '2027-03-01T09:00:00.000Z',
  carrier: 'Parcel Post',
  trackingNumber: 'PS-1000000001',
};
