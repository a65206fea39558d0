import { type AccountMailKind, type CaughtMail, eventTypeOf, type FinalOrder, type History, type MailUser, type OrderMailKind, subjectOf, type Transition } from '../history.js';
import type { Violation } from './violation.js';

/** An attempt may last this long after notifications knows that a user no longer wants mail. */
export const graceMs = 7_000;
/** The clocks of databases and calls may differ by this much. */
const clockErrorMs = 100;
/** A mail is accepted this long before a fault that hits the record of it, at most. */
const recordMs = 1_000;
/** Mails that two replicas send at the same time: as many can be repeated after one fault. */
const atOnce = 10;

/** A step of an order that its owner is to hear of. */
interface MailedStep {
  readonly orderId: number;
  readonly step: Transition;
  readonly kind: OrderMailKind;
}

/**
 * Users get each mail that is due at least once, and nobody else's: mails about orders under the id of the step's event, at the owner's
 * address, and while that is wanted; mails about accounts once each. Those of an order come in its order. A mail is repeated only if its
 * server did not answer, or a fault hit sender, database or mail server.
 */
export function checkMails({ final, mailUsers, mailFaults }: History): Violation[] {
  if (mailUsers.length === 0) return [];
  const byId = Map.groupBy(final.mails, ({ id }) => id);
  const steps = mailedSteps(final.orders);
  return [
    ...[...byId].flatMap(([id, same]) => invented(id, same, steps.get(id), mailUsers)),
    ...missing(steps, byId, mailUsers),
    ...outOfOrder(steps, byId),
    ...accountMails(final.mails, mailUsers),
    ...repeated(byId, mailFaults),
  ].map((what) => ({ rule: 'mails', what }));
}

function mailedSteps(orders: readonly FinalOrder[]): ReadonlyMap<string, MailedStep> {
  const all = orders.flatMap(({ id, transitions }) => transitions.flatMap((step) => {
    const kind = kindOf(step);
    return kind && step.eventId !== null ? [[step.eventId, { orderId: id, step, kind }] as const] : [];
  }));
  return new Map(all);
}

function kindOf(step: Transition): OrderMailKind | undefined {
  switch (eventTypeOf(step)) {
    case 'order.placed':
      return 'order-placed';
    case 'order.shipped':
      return 'order-shipped';
    case 'refund.due':
      return 'refund-due';
    case 'order.status_changed':
      return step.newStatus === 'approved' ? 'order-paid' : step.newStatus === 'cancelled' ? 'order-cancelled' : undefined;
    default:
      return undefined;
  }
}

/** Describes what is wrong with a mail that was not due, or not to this address. */
function invented(id: string, same: readonly CaughtMail[], mailed: MailedStep | undefined, users: readonly MailUser[]): string[] {
  return same.flatMap(({ to, subject, at }): string[] => {
    const what = `the mail "${subject}" (${id}) to ${to.join()} at ${(at / 1_000).toFixed(2)} s`;
    const owners = users.filter(({ wanted, due }) => to.every((address) => [...wanted, ...due].some((one) => one.address === address)));
    const [owner] = owners;
    if (to.length !== 1 || !owner) return [`${what} has an address that no user gave`];
    if (!mailed) return Object.values(subjectOf).includes(subject) ? [] : [`${what} is about no step of an order`];
    const { orderId, step, kind } = mailed;
    if (!isAbout(subject, kind, orderId)) return [`${what} should be about step ${step.version} of order ${orderId}: ${kind}`];
    if (step.owner !== owner.client) return [`${what} is about an order of ${step.owner ?? 'nobody'}, not of ${owner.client}`];
    const wish = owner.wanted.find((one) => to.includes(one.address) && at >= one.from && at <= (one.ended ?? Infinity) + graceMs);
    return wish ? [] : [`${what} was not wanted: ${JSON.stringify(owner.wanted)}`];
  });
}

const isAbout = (subject: string, kind: OrderMailKind, orderId: number): boolean => subject === orderSubjects[kind].replace('#', `${orderId}`);

const orderSubjects: Readonly<Record<OrderMailKind, string>> = {
  'order-placed': 'We have your order #',
  'order-paid': 'Your order # is paid',
  'order-shipped': 'Your order # is on its way',
  'order-cancelled': 'Your order # was cancelled',
  'refund-due': 'You get your money back for order #',
};

/** Of users who want mail until the end, every step since notifications knew of it. */
function missing(steps: ReadonlyMap<string, MailedStep>, byId: ReadonlyMap<string, unknown>, users: readonly MailUser[]): string[] {
  const since = new Map(users.flatMap(({ client, wanted }) => {
    const last = wanted.at(-1);
    return last && last.ended === undefined ? [[client, last.known + clockErrorMs] as const] : [];
  }));
  return [...steps].flatMap(([id, { orderId, step, kind }]) =>
    (step.owner !== null && step.at > (since.get(step.owner) ?? Infinity) && !byId.has(id) ? [`${step.owner} got no mail ${kind} (${id}) of order ${orderId}`] : []));
}

function outOfOrder(steps: ReadonlyMap<string, MailedStep>, byId: ReadonlyMap<string, readonly CaughtMail[]>): string[] {
  const last = new Map<number, number>();
  return [...byId].sort(([, [a]], [, [b]]) => (a?.at ?? 0) - (b?.at ?? 0)).flatMap(([id]) => {
    const mailed = steps.get(id);
    if (!mailed) return [];
    const before = last.get(mailed.orderId) ?? 0;
    last.set(mailed.orderId, Math.max(before, mailed.step.version));
    return mailed.step.version < before ? [`the mail about step ${mailed.step.version} of order ${mailed.orderId} came after that about step ${before}`] : [];
  });
}

/** Each mail about an account comes under one id. */
function accountMails(mails: readonly CaughtMail[], users: readonly MailUser[]): string[] {
  const counts = new Map<string, Set<string>>();
  for (const { to, subject, id } of mails) {
    const mailbox = `"${subject}" to ${to.join()}`;
    counts.set(mailbox, (counts.get(mailbox) ?? new Set()).add(id));
  }
  const due = Map.groupBy(users.flatMap((user) => user.due), ({ kind, address }) => `"${subjectOf[kind]}" to ${address}`);
  const accountSubjects: readonly string[] = (Object.keys(subjectOf) as AccountMailKind[]).map((kind) => subjectOf[kind]);
  const undue = [...counts.keys()].filter((mailbox) => accountSubjects.some((subject) => mailbox.startsWith(`"${subject}"`)) && !due.has(mailbox));
  return [
    ...undue.map((mailbox) => `${mailbox} was not due`),
    ...[...due].flatMap(([mailbox, all]) => {
      const count = counts.get(mailbox)?.size ?? 0;
      const [least, most] = [all.reduce((sum, one) => sum + one.least, 0), all.reduce((sum, one) => sum + one.most, 0)];
      return count < least || count > most ? [`${mailbox} came ${count} times, and ${least === most ? least : `${least} to ${most}`} were due`] : [];
    }),
  ];
}

/** Repetitions that no missing answer explains, and no fault, of which each explains a few. */
function repeated(byId: ReadonlyMap<string, readonly CaughtMail[]>, faults: History['mailFaults']): string[] {
  const explained = faults.map(() => 0);
  return [...byId].flatMap(([id, same]) => same.slice(1).flatMap((again, n) => {
    const before = same[n];
    if (!before || !before.isAnswered) return [];
    const fault = faults.findIndex(({ from, to }, f) => from <= again.at && to >= before.at - recordMs && (explained[f] ?? 0) < atOnce);
    if (fault >= 0) explained[fault] = (explained[fault] ?? 0) + 1;
    return fault >= 0 ? [] : [`the mail "${again.subject}" (${id}) came again at ${(again.at / 1_000).toFixed(2)} s, ${((again.at - before.at) / 1_000).toFixed(2)} s after it was accepted, and no fault explains it`];
  }));
}
