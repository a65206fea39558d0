import { Browser, expectPage } from '@plant-shop/testing/browser';
import { becomesTrue } from '@plant-shop/testing/until';
import type { Client, Outcome } from './client.js';
import { graceMs } from './checks/mails.js';
import { now, pause } from './clock.js';
import { type AccountMailKind, isDone, type MailUser, subjectOf } from './history.js';
import type { Random } from './random.js';
import { asAsked, withRetries } from './retries.js';
import type { Customer, Trial } from './trial.js';
import type { KnownOrders } from './workload.js';

/** Longer than the pauses after three failed attempts, on a busy machine. */
const arrivalLimitMs = 45_000;

/** A user with an address, who wants mail about orders or not. Records what the user must and must not get. */
export class MailingUser implements MailUser {
  readonly wanted: MailUser['wanted'][number][] = [];
  readonly due: MailUser['due'][number][] = [];
  readonly client: string;
  private address: string | undefined;

  constructor(private readonly trial: Trial, private readonly random: Random, private readonly customer: Customer) {
    this.client = customer.client.name;
    trial.mailUsers.push(this);
  }

  /** Sets another address and verifies it, by the link in the mail. @returns whether that was possible */
  async moveTo(address: string): Promise<boolean> {
    const former = this.address;
    if (!(await this.change({ email: address }, [['verify-address', address], ...(former === undefined ? [] : [['address-changed', former] as const])]))) return false;
    await this.endWish();
    this.address = address;
    const from = now();
    if (!(await this.openLink(address))) return false;
    if (former !== undefined) await this.beginWish(from);
    return true;
  }

  /** Asks for mail about orders. Returns when notifications knows it. */
  async wantOrderMails(): Promise<void> {
    const from = now();
    if (await this.change({ orderMails: true })) await this.beginWish(from);
  }

  /** Returns when notifications knows it. */
  async refuseOrderMails(): Promise<void> {
    if (await this.change({ orderMails: false })) await this.endWish();
  }

  async changePassword(password: string): Promise<void> {
    await this.change({ password }, this.address === undefined ? [] : [['password-changed', this.address]]);
  }

  private async beginWish(from: number): Promise<void> {
    if (this.address !== undefined) this.wanted.push({ address: this.address, from, known: await this.untilNotified() });
  }

  private async endWish(): Promise<void> {
    const last = this.wanted.pop();
    if (last) this.wanted.push({ ...last, ended: await this.untilNotified() });
  }

  /**
   * Changes the account until the outcome is known. A repetition changes nothing, so each mail is due once.
   * @param mails kinds and addresses of those that follow
   */
  private async change(json: object, mails: readonly (readonly [AccountMailKind, string])[] = []): Promise<boolean> {
    const due = mails.map(([kind, address]) => ({ kind, address, least: 0, most: 1 }));
    this.due.push(...due);
    const outcome: Outcome | undefined = await withRetries(this.random, () => this.customer.client.other('PATCH', `/v3/user/${this.customer.username}`, json), asAsked);
    if (!outcome || !isDone(outcome.call)) return false;
    for (const one of due) one.least = 1;
    return true;
  }

  /** Waits until notifications has answered identity about this user. @returns when that was seen */
  private async untilNotified(): Promise<number> {
    const { databases } = this.trial.testbed;
    const isNotified = (): Promise<boolean> => databases.waitingRecipients(this.customer.username).then((count) => count === 0, () => false);
    if (!(await becomesTrue(isNotified, arrivalLimitMs))) throw new Error(`notifications was not told about ${this.client} in time`);
    return now();
  }

  /** Waits for the mail that verifies an address, opens its link, and submits the form. */
  private async openLink(address: string): Promise<boolean> {
    const find = (): string | undefined => this.trial.caughtMails.all.find(({ to, subject }) => to.includes(address) && subject === subjectOf['verify-address'])?.link;
    if (!(await becomesTrue(() => find() !== undefined, arrivalLimitMs))) return false;
    return becomesTrue(() => submitFormAt(find() ?? '', this.trial.testbed.gatewayUrl).catch(() => false), arrivalLimitMs, 500);
  }
}

/** Opens the page of a link and submits its form. @returns whether the link has worked, now or before */
async function submitFormAt(link: string, servedAt: string): Promise<boolean> {
  const browser = new Browser(new URL(link).origin, servedAt);
  const page = expectPage(await browser.open(link));
  // An earlier submission, whose answer was lost, has used up the link.
  if (page.status === 400) return true;
  const button = page.forms[0]?.buttons[0];
  return button !== undefined && expectPage(await browser.submit(page, button)).status === 200;
}

const newAddress = (random: Random): string => `user-${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}@mail.test`;

/** Lets a customer verify an address and want mail about orders, if the first mail comes in time. */
export async function wantMail(trial: Trial, random: Random, customer: Customer): Promise<void> {
  const user = new MailingUser(trial, random, customer);
  if (await user.moveTo(newAddress(random))) await user.wantOrderMails();
}

/**
 * A new user wants mail about orders and places one. Then the user moves to another address, changes the password, or no longer wants
 * mail, and places another order when no mail can be on its way any more. Staff pay, ship and deliver both at any time.
 */
export async function useMail(trial: Trial, random: Random, plantIds: readonly number[], known: KnownOrders): Promise<void> {
  const customer = await trial.register(`mailed${random.between(0, 2 ** 31)}`);
  if (!customer) return;
  const user = new MailingUser(trial, random, customer);
  if (!(await user.moveTo(newAddress(random)))) return;
  await user.wantOrderMails();
  await order(customer.client, random, plantIds, known);
  await pause(random.between(0, 1_000));
  await random.pick([
    () => user.moveTo(newAddress(random)),
    () => user.changePassword('another long password'),
    () => user.refuseOrderMails(),
    () => user.refuseOrderMails(),
  ])();
  await pause(graceMs);
  await order(customer.client, random, plantIds, known);
}

async function order(client: Client, random: Random, plantIds: readonly number[], known: KnownOrders): Promise<void> {
  const { call } = await client.place({ plantId: random.pick(plantIds), quantity: 1 });
  const id = isDone(call) ? call.answer.order?.id : undefined;
  if (id !== undefined) known.placed.push(id);
}
