import { describe, expect, it } from '@jest/globals';
import type { CaughtMail, History, MailUser } from '../history.js';
import { eventOf, history, shippedEvent } from './history.spec.fixture.js';
import { checkMails } from './mails.js';

const address = 'c@mail.test';
let positions = 0;
const mail = (id: string, subject: string, more: Partial<CaughtMail> = {}): CaughtMail => ({ at: 20_000 + ++positions, to: [address], id, subject, isAnswered: true, ...more });
const verification = mail('m-1', 'Confirm your address', { at: 1 });
/** Of all steps of which client `c` hears: order 1 was transferred before its delivery, which causes no mail. */
const ofOrders: readonly CaughtMail[] = [
  mail(eventOf(1, 0).id, 'We have your order 1'),
  mail(eventOf(1, 1).id, 'Your order 1 is paid'),
  mail(shippedEvent.id, 'Your order 1 is on its way'),
  mail(eventOf(2, 0).id, 'We have your order 2'),
  mail(eventOf(2, 1).id, 'Your order 2 is paid'),
  mail(eventOf(3, 0).id, 'We have your order 3'),
  mail(eventOf(3, 1).id, 'Your order 3 was cancelled'),
  mail(eventOf(3, 10).id, 'You get your money back for order 3'),
];
const wanted: MailUser['wanted'][number] = { address, from: -500, known: -400 };
const user: MailUser = { client: 'c', wanted: [wanted], due: [{ kind: 'verify-address', address, least: 1, most: 1 }] };
const other: MailUser = { client: 'd', wanted: [{ ...wanted, address: 'd@mail.test' }], due: [] };

interface Changes {
  readonly mails?: readonly CaughtMail[];
  readonly users?: readonly MailUser[];
  readonly faults?: History['mailFaults'];
}

function found({ mails = [verification, ...ofOrders], users = [user, other], faults = [] }: Changes): string[] {
  const base = history();
  return checkMails({ ...base, mailUsers: users, mailFaults: faults, final: { ...base.final, mails } }).map(({ what }) => what);
}

const all = [verification, ...ofOrders];
const paid = ofOrders[1]!;
const again = { ...paid, at: 21_000 };

describe('mails without faults of the shop', () => {
  it.each<[string, Changes]>([
    ['each came once', {}],
    ['a mail whose first copy got no answer came again', { mails: [...all.map((one) => (one === paid ? { ...one, isAnswered: false } : one)), again] }],
    ['a mail came again after a fault', { mails: [...all, again], faults: [{ from: 20_500, to: 20_500 }] }],
    ['a mail was on its way when it was no longer wanted', { users: [{ ...user, wanted: [{ ...wanted, ended: 14_000 }] }, other] }],
    ['who no longer wants mail lacks some', { mails: [verification], users: [{ ...user, wanted: [{ ...wanted, ended: 15 }] }, other] }],
    ['who wanted mail late lacks earlier steps', { mails: [verification], users: [{ ...user, wanted: [{ ...wanted, known: 30 }] }, other] }],
    ['a change with an unknown outcome caused a mail or not', { users: [{ ...user, due: [...user.due, { kind: 'password-changed', address, least: 0, most: 1 }] }, other] }],
    ['nobody has an address', { users: [], mails: [] }],
  ])('%s', (_name, changes) => expect(found(changes)).toEqual([]));
});

describe('a violation is', () => {
  it.each<[string, Changes, RegExp]>([
    ['a mail that never came', { mails: all.filter((one) => one !== paid) }, /c got no mail order-paid/],
    ['a verification that never came', { mails: ofOrders }, /came 0 times, and 1 were due/],
    ['a second verification', { mails: [...all, { ...verification, id: 'm-2' }] }, /came 2 times, and 1 were due/],
    ['a notice of a change that nobody made', { mails: [...all, mail('m-3', 'Your password was changed')] }, /was not due/],
    ['a mail about the order of another user', { mails: [...all, { ...paid, to: ['d@mail.test'] }] }, /is about an order of c, not of d/],
    ['a mail to two addresses', { mails: [...all, { ...paid, to: [address, 'd@mail.test'], at: 20_001 }], faults: [{ from: 20_000, to: 20_010 }] }, /has an address that no user gave/],
    ['a mail to a stranger', { mails: [...all, mail('m-4', 'Confirm your address', { to: ['x@mail.test'] })] }, /has an address that no user gave/],
    ['a mail about an order that does not exist', { mails: [...all, mail('event-9-0', 'We have your order 9')] }, /is about no step of an order/],
    ['a mail with the text of another step', { mails: all.map((one) => (one === paid ? { ...one, subject: 'Your order 1 was cancelled' } : one)) }, /should be about step 2 of order 1: order-paid/],
    ['a mail that is no longer wanted', { users: [{ ...user, wanted: [{ ...wanted, ended: 11_000 }] }, other] }, /was not wanted/],
    ['a mail to a former address', { users: [{ ...user, wanted: [{ ...wanted, ended: 11_000 }, { ...wanted, address: 'new@mail.test' }] }, other] }, /was not wanted/],
    ['a later step before an earlier one', { mails: all.map((one) => (one === paid ? { ...one, at: 19_000 } : one)) }, /the mail about step 1 of order 1 came after that about step 2/],
    ['a repetition that nothing explains', { mails: [...all, again] }, /came again .* no fault explains it/],
    ['a repetition long after a fault', { mails: [...all, again], faults: [{ from: 1, to: 10_000 }] }, /came again .* no fault explains it/],
    ['more repetitions than a fault explains', { mails: [...all, ...Array.from({ length: 11 }, (_, n) => ({ ...paid, at: 21_000 + n }))], faults: [{ from: 20_000, to: 22_000 }] }, /came again .* no fault explains it/],
  ])('%s', (_name, changes, what) => expect(found(changes).join('\n')).toMatch(what));
});
