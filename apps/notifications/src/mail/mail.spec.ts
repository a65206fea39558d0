import { describe, expect, it } from '@jest/globals';
import { maskAddress, minutesOfLink, pauseBeforeRetry, shownError } from './mail.js';
import { failureOf } from './mailer.js';
import { mailFaults, mailSettings, toMailOptions } from './settings.js';
import { readConfig } from '@plant-shop/platform/config';

describe('mail', () => {
  it('staff see the first character and the domain of an address', () => {
    expect(['ann@example.com', 'ä+b@x.test', '🌱plant@x.test'].map(maskAddress)).toEqual(['a…@example.com', 'ä…@x.test', '🌱…@x.test']);
  });

  it("staff see a server's answer in one line, without addresses, shortened", () => {
    expect(shownError('550 5.1.1 <ann@example.com>: no\r\n550 such user ann@example.com')).toBe('550 5.1.1 <a…@example.com>: no 550 such user a…@example.com');
    expect(shownError('x'.repeat(1_000))).toHaveLength(500);
  });

  it('a mail is tried ten times in three days; one with a link every five minutes at most', () => {
    const pauses = (hasLink: boolean): (number | undefined)[] => Array.from({ length: 11 }, (_, n) => pauseBeforeRetry(n + 1, hasLink, 1, 0.5));
    expect(pauses(false).slice(8)).toEqual([86_400_000, undefined, undefined]);
    expect(pauses(true)).toEqual([5_000, ...Array(10).fill(300_000)]);
  });

  it('a link lasts as long as the mail says, an hour if it does not', () => {
    expect([{}, { link: 'x' }, { link: 'x', minutes: '15' }, { link: 'x', minutes: 'soon' }].map(minutesOfLink)).toEqual([undefined, 60, 15, 60]);
  });

  it.each([
    [{ responseCode: 550, command: 'RCPT TO', response: '550 no' }, true],
    [{ responseCode: 554, command: 'DATA', response: '554 spam' }, true],
    [{ responseCode: 450, command: 'RCPT TO', response: '450 later' }, false],
    [{ responseCode: 550, command: 'MAIL FROM', response: '550 sender' }, false],
    [{ responseCode: 535, command: 'AUTH PLAIN', response: '535 password' }, false],
    [{ code: 'EENVELOPE', command: 'API', message: 'No recipients defined' }, true],
    [{ code: 'ESOCKET', originalCode: 'ECONNREFUSED', command: 'CONN', message: 'connect' }, false],
    [{ code: 'ETLS', message: 'no TLS' }, false],
  ])('%j ends the mail: %s', (error, isFinal) => {
    expect(failureOf(error)).toMatchObject({ isSent: false, isFinal });
  });
});

describe('the settings of mail', () => {
  const optionsOf = (variables: Record<string, string>, isProduction = true) => toMailOptions(readConfig(mailSettings, variables), isProduction);

  it('name a server, by address, name and password', () => {
    expect(optionsOf({ SMTP_URL: 'smtp://a%40b:p%3Aw@mail.test:25', MAIL_FROM: 'a@b.test' }).server).toEqual({
      ...{ host: 'mail.test', port: 25, isTls: false, requireTls: true },
      auth: { user: 'a@b', pass: 'p:w' },
    });
    expect(optionsOf({ SMTP_URL: 'smtps://[::1]', MAIL_FROM: 'a@b.test' }, false).server).toEqual({ host: '::1', port: 465, isTls: true, requireTls: false });
    expect(optionsOf({}).server).toBeUndefined();
  });

  it('need a sender with a server, and refuse other forms', () => {
    expect(mailFaults(readConfig(mailSettings, { SMTP_URL: 'smtp://x' }))).toEqual([expect.stringContaining('MAIL_FROM')]);
    expect(mailFaults(readConfig(mailSettings, {}))).toEqual([]);
    for (const wrong of [{ MAIL_FROM: 'Shop <a@b.test>' }, { SHOP_COLOUR: 'red' }, { SMTP_URL: 'http://x' }]) expect(() => readConfig(mailSettings, wrong)).toThrow(/must/);
  });
});
