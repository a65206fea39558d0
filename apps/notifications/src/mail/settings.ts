import { isEmailAddress } from '@plant-shop/contracts/fields';
import { type Config, integer, type Setting, text, url } from '@plant-shop/platform/config';
import type { MailOptions } from '../options.js';

const form = (variable: string, documented: { description: string; default: string }, isValid: (text: string) => boolean, must: string): Setting<string> => ({
  variable,
  description: documented.description,
  defaultText: documented.default,
  parse: (given) => {
    if (given !== '' && !isValid(given)) throw new Error(must);
    return given;
  },
});

/** Of an attempt with a small time scale, so that a busy machine can finish it. */
const shortestAttemptMs = 6_000;

export const mailSettings = {
  smtpUrl: url('SMTP_URL', ['smtp', 'smtps'], {
    description: 'Mail server: `smtp://name:password@host:587`; `smtps://` for TLS from the first byte, in production `smtp://` upgrades. Without it no mail is sent',
    default: '',
  }),
  mailFrom: form('MAIL_FROM', { description: 'Sender of mail; needed with `SMTP_URL`', default: '' }, isEmailAddress, 'be an e-mail address'),
  mailPerSecond: integer('MAIL_PER_SECOND', { description: 'Mails per replica and second', default: '10', min: 1, max: 10_000 }),
  shopName: text('SHOP_NAME', { description: 'Name in mails', default: 'Plant shop' }),
  shopAddress: text('SHOP_ADDRESS', { description: 'Last lines of mails, separated by vertical bars', default: '' }),
  shopColour: form('SHOP_COLOUR', { description: 'Colour of links in mails', default: '#2f6b3c' }, (given) => /^#[0-9a-f]{6}$/i.test(given), 'be a colour like #2f6b3c'),
};

/** Returns what is wrong with settings that are valid each. */
export const mailFaults = ({ smtpUrl, mailFrom }: Config<typeof mailSettings>): string[] =>
  smtpUrl !== '' && mailFrom === '' ? ['MAIL_FROM is missing (with SMTP_URL it is needed)'] : [];

/** @param timeScale that of webhooks */
export function toMailOptions(config: Config<typeof mailSettings>, isProduction: boolean, timeScale = 1): MailOptions {
  const attemptLimitMs = Math.max(shortestAttemptMs, 40_000 * timeScale);
  return {
    server: config.smtpUrl === '' ? undefined : { ...serverOf(new URL(config.smtpUrl)), requireTls: isProduction },
    from: config.mailFrom,
    shop: { name: config.shopName, address: config.shopAddress.split('|').map((line) => line.trim()), colour: config.shopColour },
    perSecond: config.mailPerSecond,
    atOnce: 5,
    perUserAndHour: 20,
    timeScale,
    attemptLimitMs,
    leaseMs: 1.5 * attemptLimitMs,
    pollMs: 1_000,
    sweepMs: 60_000,
    keepEndedMs: 30 * 86_400_000,
  };
}

function serverOf({ protocol, hostname, port, username, password }: URL): Omit<NonNullable<MailOptions['server']>, 'requireTls'> {
  const isTls = protocol === 'smtps:';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isTls ? 465 : 587) : Number(port),
    isTls,
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
  };
}
