const { default: Sequencer } = require('@jest/test-sequencer');

/** Files in the order of their names, the one that kills services last. */
module.exports = class OutageLast extends Sequencer {
  sort(tests) {
    const rank = (test) => (test.path.includes('outage') ? `~${test.path}` : test.path);
    return [...tests].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  }
};
