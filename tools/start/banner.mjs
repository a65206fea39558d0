/**
 * The text printed once the shop is up.
 * @param {object} shop
 * @param {[string, ...string[]]} shop.gatewayUrls of each replica
 * @param {[string, ...string[]]} shop.streamUrls
 * @param {string | undefined} shop.mailUrl absent if the user has a mail server
 * @param {string | undefined} shop.jetstreamUrl absent without JetStream
 * @param {string} shop.dataDir
 * @param {string} shop.logs
 * @param {number} shop.seconds
 */
export function banner({ gatewayUrls, streamUrls, mailUrl, jetstreamUrl, dataDir, logs, seconds }) {
  const [gatewayUrl] = gatewayUrls;
  const [streamUrl] = streamUrls;
  const oneBelowTheOther = (/** @type {string[]} */ urls) => urls.join(`\n${' '.repeat(19)}`);
  return `
  The plant shop is open (after ${seconds.toFixed(1)} s).

  HTTP API         ${oneBelowTheOther(gatewayUrls.map((url) => `${url}/v3`))}
  API reference    ${gatewayUrl}/docs
  console          ${gatewayUrl}/console
  event stream     ${oneBelowTheOther(streamUrls.map((url) => `${url}/v1/orders/updates?api_key=special-key`))}
  health           ${gatewayUrl}/readyz${mailUrl === undefined ? '' : `
  mails            ${mailUrl}`}${jetstreamUrl ? `
  JetStream        ${jetstreamUrl}` : ''}

  admin            admin / admin-password
  API key          special-key
  OAuth client     plant-admin / plant-secret
  For one machine  any password is accepted, limits are high: tools/start/README.md#laxer-than-production

  add a plant      curl -H 'api_key: special-key' -H 'content-type: application/json' ${gatewayUrl}/v3/plant \\
                     -d '{"id": 7, "name": "Monstera", "photoUrls": [], "status": "available"}'
  order it         curl -H 'api_key: special-key' -H 'content-type: application/json' ${gatewayUrl}/v3/store/order \\
                     -d '{"plantId": 7, "quantity": 1}'
  log in           curl '${gatewayUrl}/v3/user/login?username=admin&password=admin-password'
  get a token      curl -u plant-admin:plant-secret -d grant_type=client_credentials ${gatewayUrl}/oauth/token
  watch orders     curl -N -H 'api_key: special-key' -H 'accept: text/event-stream' ${httpOf(streamUrl)}/v1/orders/updates

${jetstreamUrl ? destination(gatewayUrl, jetstreamUrl) : ''}  data             ${dataDir}    (delete it: npm start -- --fresh)
  logs             ${logs}
  stop             Ctrl-C
`;
}

/** @param {string} gatewayUrl @param {string} jetstreamUrl */
const destination = (gatewayUrl, jetstreamUrl) => `  share events     NATS_URL=${jetstreamUrl} DATABASE_URL=… node libs/client/examples/consume-jetstream.mjs
                   curl -H 'api_key: special-key' -H 'content-type: application/json' ${gatewayUrl}/v3/destinations \\
                     -d '{"name": "Warehouse", "url": "${jetstreamUrl}", "stream": "EVENTS"}'

`;

/** @param {string} url */
const httpOf = (url) => url.replace(/^ws/, 'http');
