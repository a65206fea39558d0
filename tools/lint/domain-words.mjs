/** Words of the shop. `libs/platform` holds mechanisms only: a word of this list there means a rule has strayed. */
const WORDS = ['plant', 'order', 'stock', 'username', 'session', 'image', 'category', 'inventory', 'webhook', 'shipment', 'payment', 'customer'];

const capital = (/** @type {string} */ word) => word.slice(0, 1).toUpperCase() + word.slice(1);

/** Such a word at the start of a name, or at a capital letter in it: `orderId`, `placeOrders`, but not `border` or `ordering`. */
const DOMAIN_WORD = new RegExp(`(^(${WORDS.join('|')})|(${WORDS.map(capital).join('|')}))s?([A-Z_]|$)`);

/** A plugin of oxlint. */
export default {
  meta: { name: 'plant-shop' },
  rules: {
    'no-domain-word': {
      /** @param {{ report: (finding: { node: object, message: string }) => void }} context */
      create: (context) => ({
        /** @param {{ name: string }} node */
        Identifier(node) {
          if (!DOMAIN_WORD.test(node.name)) return;
          context.report({ node, message: `\`${node.name}\`: libs/platform knows no domain word: move the rule to the service that owns it.` });
        },
      }),
    },
  },
};
