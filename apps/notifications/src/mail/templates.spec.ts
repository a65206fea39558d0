import { describe, expect, it } from '@jest/globals';
import { IncompleteMail, locales, mailKinds, sampleValues, Templates } from './templates.js';

const shop = { name: 'Plants', address: ['Way 1'], colour: '#123456' };
describe.each(locales)('the texts in %s', (locale) => {
  const templates = new Templates(shop, locale);

  it.each(mailKinds)('%s has a subject, a text and a page, without open places', (kind) => {
    const { subject, text, html } = templates.render(kind, sampleValues);
    expect(subject).toMatch(/^\S.*\S$/);
    for (const part of [subject, text, html]) expect(part).not.toMatch(/\{\{|\}\}|undefined|2027-03-01T/);
    expect(text).toMatch(/\S\n\n-- \nPlants\nWay 1\n$/);
    expect(html).toContain(`<html lang="${locale}">`);
    // Nothing is loaded when a mail is read.
    expect(html).not.toMatch(/src=|url\(|@import|<link/);
  });

  it.each(mailKinds)('%s escapes all values, and names them in one line', (kind) => {
    const evil = Object.fromEntries(Object.keys(sampleValues).map((name) => [name, name === 'link' ? 'https://shop.test/"><script>' : `<b>"'&\r\n${name}`]));
    const { subject, html } = templates.render(kind, evil);
    expect(html).not.toMatch(/<script|<b>/);
    expect(subject).not.toMatch(/[\r\n]/);
  });
});

describe('a text', () => {
  const templates = new Templates(shop);

  it('leaves out lines about values that the mail does not have', () => {
    const { text } = templates.render('new-sign-in', { at: sampleValues['at'] });
    expect(text).toContain('When: March 1, 2027 at 8:00 AM UTC\n\n');
    expect(text).not.toMatch(/Device|Network|Hello/);
  });

  it('shows the beginning of a long value', () => {
    expect(templates.render('new-sign-in', { device: 'x'.repeat(1_000) }).text).toContain(`Device: ${'x'.repeat(200)}\n`);
  });

  it.each([['1', '1 minute'], ['15', '15 minutes'], ['119', '119 minutes'], ['1440', '24 hours'], ['1439', '23 hours']])('says of %s minutes: %s', (minutes, said) => {
    expect(templates.render('recovery', { ...sampleValues, minutes }).text).toContain(`works once, for ${said}.`);
  });

  it('shows as it is what only looks like a time: whoever names a device or key so would keep its mail from being sent', () => {
    for (const device of ['2027-99-99T99:99:99Z', '2027-03-01T08:00:00Z']) expect(templates.render('new-sign-in', { device }).text).toContain(`Device: ${device}\n`);
  });

  it('needs a web address for its link', () => {
    for (const link of [undefined, '', 'javascript:alert(1)', '/verify']) expect(() => templates.render('recovery', { link })).toThrow(IncompleteMail);
  });
});
