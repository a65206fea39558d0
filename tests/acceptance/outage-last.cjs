const { default: Sequencer } = require('@jest/test-sequencer');

/** Prefixes of files that restore databases or kill services, the most disruptive last. */
const last = ['reconcile', 'outage'];

/** Sorts files by name, disruptive ones last. */
module.exports = class OutageLast extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => `${last.findIndex((name) => path.includes(`/${name}`))} ${path}`.replace(/^-1/, ' ');
    return [...tests].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  }
};
