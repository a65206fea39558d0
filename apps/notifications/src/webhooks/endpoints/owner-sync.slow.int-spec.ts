import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { customer, staff, TestWebhooks, userNo } from '../webhooks.spec.fixture.js';
import type { WebhooksOptions } from '../../options.js';

const url = 'http://127.0.0.1:9/hook';
/** So that no second check of all owners runs in a test. */
const never = 600_000;

describe('webhooks and their owners', () => {
  let shop: TestWebhooks;
  afterEach(() => shop.stop());

  const start = async (options: Partial<WebhooksOptions> & { replicas?: number } = {}): Promise<void> => {
    shop = await TestWebhooks.start(options);
  };
  const createFor = async (users: number): Promise<void> => {
    for (let n = 1; n <= users; n++) await shop.create(url, {}, customer(n));
  };
  const owners = async (): Promise<string[]> => {
    const { rows } = await shop.sql.query<{ id: string }>(
      `SELECT owner_id AS id FROM webhooks w WHERE state <> 'deleted' AND EXISTS (SELECT 1 FROM webhook_secrets s WHERE s.webhook_id = w.id) ORDER BY 1`,
    );
    return rows.map((row) => row.id);
  };
  const numbered = (first: number, last: number): string[] => Array.from({ length: last - first + 1 }, (_, n) => userNo(first + n));
  const visible = async (principal = staff(9)): Promise<boolean> =>
    (await shop.sql.query('SELECT 1 FROM webhooks WHERE owner_id = $1 AND sees_all', [principal.subject])).rowCount === 1;
  /**
   * Waits until two whole checks of all owners have ended, after which missing owners could be deleted. A check may be running, and the
   * creation of a webhook has its own lookup. Entries in the revocation log make the next check begin at once.
   */
  const someChecksLater = async (owner: string): Promise<void> => {
    const lookups = (): number => shop.lookups.filter((id) => id === owner).length;
    const before = lookups();
    await until(() => {
      shop.revoke('userChanged', userNo(99));
      return lookups() >= before + 5;
    });
  };

  it('are deleted with them, without an entry in the revocation log too', async () => {
    await start({ checkAllOwnersMs: 100 });
    await createFor(3);
    shop.users.set(userNo(2), undefined);
    await until(async () => (await owners()).length < 3);
    expect(await owners()).toEqual([userNo(1), userNo(3)]);
  });

  it('stay when many owners are missing at once, except those that the revocation log names', async () => {
    await start({ checkAllOwnersMs: 100 });
    await createFor(30);
    for (const id of numbered(1, 22)) shop.users.set(id, undefined);
    await someChecksLater(userNo(30));
    expect(await owners()).toEqual(numbered(1, 30));
    shop.revoke('user', userNo(5));
    await until(async () => (await owners()).length === 29);
    expect(await owners()).toEqual(numbered(1, 30).filter((id) => id !== userNo(5)));
    // After a second restore, with the right backup, fewer are missing.
    for (const id of numbered(6, 22)) shop.users.delete(id);
    await until(async () => (await owners()).length === 25);
    expect(await owners()).toEqual(numbered(6, 30));
  });

  it('stay when all owners are missing, however few they are', async () => {
    await start({ checkAllOwnersMs: 100 });
    await createFor(2);
    for (const id of numbered(1, 2)) shop.users.set(id, undefined);
    await someChecksLater(userNo(2));
    expect(await owners()).toEqual(numbered(1, 2));
  });

  it('do not outlive owners that were deleted or changed while they were created', async () => {
    await start({ checkAllOwnersMs: never });
    const [deleted, demoted] = [customer(1), staff(9)];
    shop.users.set(deleted.subject, undefined);
    shop.users.set(demoted.subject, permissionsOfRole.customer);
    shop.revoke('user', deleted.subject);
    shop.revoke('userChanged', demoted.subject);
    // The entries were handled, and the gateway had authenticated the requests before.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await shop.create(url, {}, deleted);
    await shop.create(url, {}, demoted);
    await until(async () => (await owners()).join() === demoted.subject && !(await visible()));
  });

  it('are checked again when the revocation log has lost entries', async () => {
    await start({ checkAllOwnersMs: never });
    await shop.create(url, {}, staff(9));
    shop.users.set(userNo(9), permissionsOfRole.customer);
    shop.identityEpoch = 'epoch 2';
    await until(async () => !(await visible()));
  });

  it('are kept in step with the other owners while the check of one fails', async () => {
    await start({ checkAllOwnersMs: 100 });
    for (const n of [1, 9, 10]) await shop.create(url, {}, staff(n));
    shop.failingUsers.add(userNo(1));
    shop.users.set(userNo(9), permissionsOfRole.customer);
    shop.revoke('userChanged', userNo(1));
    shop.revoke('userChanged', userNo(9));
    await until(async () => !(await visible(staff(9))));
    shop.users.set(userNo(10), permissionsOfRole.customer);
    await until(async () => !(await visible(staff(10))));
    expect(await visible(staff(1))).toBe(true);
    shop.failingUsers.clear();
    shop.users.set(userNo(1), permissionsOfRole.customer);
    await until(async () => !(await visible(staff(1))));
  });

  describe('at the start', () => {
    let receiver: Receiver;
    beforeEach(async () => {
      receiver = await Receiver.start();
    });
    afterEach(() => receiver.stop());

    it('get nothing before all owners are checked', async () => {
      await start();
      await shop.create(receiver.url, {}, staff(9));
      await shop.stopReplicas();
      shop.users.set(userNo(9), permissionsOfRole.customer);
      shop.happen({ orderId: 1, owner: 998 }, { orderId: 2, owner: 9 });
      let open = (): void => undefined;
      shop.usersAreKnown = new Promise((resolve) => {
        open = resolve;
      });
      await shop.addReplica();
      await shop.webhooksHaveFollowed();
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(receiver.received).toEqual([]);
      open();
      await until(() => receiver.received.length > 0);
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(receiver.received.map(({ body }) => /"orderId":(\d+)/.exec(body)?.[1])).toEqual(['2']);
    });
  });
});
