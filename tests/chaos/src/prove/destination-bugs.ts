import { type Bug, kills } from './bug.js';

const run = 'apps/notifications/dist/export/export-run.js';
const repository = 'apps/notifications/dist/export/destinations.repository.js';

export const destinationBugs: readonly Bug[] = [
  {
    id: 'destination-position-early',
    name: 'the position of a destination moves before the broker has acknowledged',
    edits: [{
      file: run,
      find: `await this.publish(broker, entries, false);
        this.position = position;
        await this.save();`,
      replace: `this.position = position;
        await this.save();
        await new Promise((passing) => setTimeout(passing, 2_000));
        await this.publish(broker, entries, false);
        this.position = position;`,
    }],
    breaks: ['destinations'],
    faults: kills('notifications-1', 'notifications-2'),
  },
  {
    id: 'destination-lease-ignored',
    name: 'a replica publishes to a destination that another one has',
    edits: [
      { file: repository, find: '\n          SELECT id FROM destinations WHERE state = \'enabled\' AND look_at <= ${queueNow} AND lease_until <= ${queueNow} FOR UPDATE SKIP LOCKED', replace: '\n          SELECT id FROM destinations WHERE state = \'enabled\'' },
      { file: repository, find: 'WHERE id = $1 AND lease = $2 AND version = $8', replace: 'WHERE id = $1 AND $2::uuid IS NOT NULL AND version = $8' },
      { file: repository, find: 'WHERE id = $1 AND version = $2 AND lease = $3', replace: 'WHERE id = $1 AND version = $2 AND $3::uuid IS NOT NULL' },
    ],
    breaks: ['destinations'],
  },
  {
    id: 'destination-epoch-ignored',
    name: 'a destination goes on by number when the shop begins a new epoch, without a marker',
    edits: [{ file: run, find: 'if (head.history !== this.knownHistory) {', replace: "if (head.history !== this.knownHistory && /^[0-]+$/.test(this.history.epoch)) {" }],
    breaks: ['destinations'],
    faults: [{ kind: 'epoch', atMs: 4_000, targets: ['store'] }],
  },
];
