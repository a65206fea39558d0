const { default: Sequencer } = require('@jest/test-sequencer');

/** Files that set databases back or kill services; the last of them are the hardest on the shop. */
const last = ['reconcile', 'intents', 'outage'];

/** Files in the order of their names, those that do something to the shop last. */
module.exports = class OutageLast extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => `${last.findIndex((name) => path.includes(`/${name}`))} ${path}`.replace(/^-1/, ' ');
    return [...tests].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  }
};
