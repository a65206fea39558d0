// `npm run mails`: writes all mails with sample values to `.data/mails`, or the folder given, for a look in a browser.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig } from '@plant-shop/platform/config';
import { mailSettings, toMailOptions } from './settings.js';
import { locales, mailKinds, sampleValues, Templates } from './templates.js';

const { shop } = toMailOptions(readConfig(mailSettings, process.env), false);
const folder = resolve(process.argv[2] ?? '.data/mails');
for (const locale of locales) {
  const templates = new Templates(shop, locale);
  mkdirSync(join(folder, locale), { recursive: true });
  for (const kind of mailKinds) {
    const { subject, text, html } = templates.render(kind, sampleValues);
    writeFileSync(join(folder, locale, `${kind}.html`), html);
    writeFileSync(join(folder, locale, `${kind}.txt`), `Subject: ${subject}\n\n${text}`);
  }
}
process.stdout.write(`${locales.length * mailKinds.length} mails are in ${folder}\n`);
