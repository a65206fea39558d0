// What operators look at, as tables. `npm run dashboards` makes Grafana's files of it; tests/deploy/observability.test.mjs sees
// that those are current and that every metric exists.

/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} says what it means, and where to read on
 * @property {string} unit as Grafana names it
 * @property {{ expr: string, legend: string }[]} queries
 */

/** @typedef {{ uid: string, title: string, panels: Panel[] }} Dashboard */

/** @param {string} title @param {string} unit @param {string} says @param {...[expr: string, legend: string]} queries @returns {Panel} */
const panel = (title, unit, says, ...queries) => ({ title, unit, says, queries: queries.map(([expr, legend]) => ({ expr, legend })) });

/** @param {string} share @param {string} by @param {string} histogram with its selector */
const quantile = (share, by, histogram) => `histogram_quantile(${share}, sum by (${by}) (rate(${histogram}[$__rate_interval])))`;

/** @param {string} by @param {string} counter with its selector */
const rate = (by, counter) => `sum by (${by}) (rate(${counter}[$__rate_interval]))`;

/** Of every service that answers calls. @param {string} service @returns {Panel[]} */
const calls = (service) => [
  panel('Calls', 'reqps', 'Answered calls by operation', [rate('operation', `rpc_operation_duration_seconds_count{service="${service}"}`), '{{operation}}']),
  panel('Calls that failed', 'reqps', 'By code; those of clients (not found, conflict) are normal, `unavailable`, `overloaded` and `internal` are not', [rate('code', `rpc_operation_duration_seconds_count{service="${service}",code!="ok"}`), '{{code}}']),
  panel('Duration of calls, p95', 's', 'From reading a call to its answer, by operation', [quantile('0.95', 'le, operation', `rpc_operation_duration_seconds_bucket{service="${service}"}`), '{{operation}}']),
  panel('Calls being carried out', 'short', 'Per replica; beyond MAX_IN_FLIGHT callers are turned away', [`rpc_in_flight{service="${service}"}`, '{{instance}}']),
];

/** Of every process. @param {string} service @returns {Panel[]} */
const processes = (service) => [
  panel('Event loop delay, p99', 's', 'Per replica. It is measured every 0.1 s, which is its zero; above half a second it has more to do than one core can', [`nodejs_eventloop_lag_p99_seconds{service="${service}"}`, '{{instance}}']),
  panel('CPU', 'percentunit', 'Of one core, per replica', [`rate(process_cpu_seconds_total{service="${service}"}[$__rate_interval])`, '{{instance}}']),
  panel('Memory', 'bytes', 'Resident, per replica', [`process_resident_memory_bytes{service="${service}"}`, '{{instance}}']),
];

/** Of a service with a database. @param {string} service */
const pool = (service) =>
  panel('Database connections', 'short', 'Waiting: callers that wait for one. Lasting, the pool is too small or statements are slow',
    [`sum by (state) (db_pool_connections{service="${service}"})`, '{{state}}'], [`sum(db_pool_size{service="${service}"})`, 'most']);

/** @param {string} title @param {string} says @param {string} histogram with its selector @returns {Panel} */
const sizes = (title, says, histogram) =>
  panel(title, 'short', says, ...['0.5', '0.95'].map((share) => /** @type {[string, string]} */ ([quantile(share, 'le', histogram), share])));

/** @type {Dashboard[]} */
export const dashboards = [
  {
    uid: 'plant-shop-overview',
    title: 'Plant shop: overview',
    panels: [
      panel('Replicas that answer', 'short', 'Of each service; the gateway is counted by its HTTP side', ['count by (service) (rpc_in_flight)', '{{service}}'], ['count by (service) (http_requests_in_flight)', '{{service}}']),
      panel('Requests', 'reqps', 'Answers of the gateway by status', [rate('status', 'http_request_duration_seconds_count'), '{{status}}']),
      panel('Share of 5xx', 'percentunit', 'Alert RequestsFail from 1 % on', ['sum(rate(http_request_duration_seconds_count{status=~"5.."}[$__rate_interval])) / sum(rate(http_request_duration_seconds_count[$__rate_interval]))', '5xx']),
      panel('Duration of requests', 's', 'Alert AnswersSlow: p95 above 1 s', ...['0.5', '0.95', '0.99'].map((share) => /** @type {[string, string]} */ ([quantile(share, 'le', 'http_request_duration_seconds_bucket'), share]))),
      panel('Orders placed', 'reqps', 'Calls of store.placeOrder by outcome', [rate('code', 'rpc_operation_duration_seconds_count{service="store",operation="placeOrder"}'), '{{code}}']),
      panel('Feed: first event not passed', 's', 'Alert FeedFollowerBehind from 60 s on', ['max by (follower) (feed_follower_behind_seconds)', '{{follower}}']),
      panel('From change to client, p95', 's', 'Alert EventsLate from 1 s on', [quantile('0.95', 'le', 'stream_lag_seconds_bucket'), 'stream']),
      panel('Oldest undelivered webhook', 's', 'Alert WebhooksPileUp from an hour on', ['max(webhook_oldest_undelivered_seconds)', 'oldest']),
      panel('Revocations last seen', 's', 'Beyond 1 s credentials are refused; alert RevocationsNotSeen', ['max by (service) (revocation_log_age_seconds)', '{{service}}']),
      panel('Clocks: how far ahead of another service', 's', 'Each service, as others measure it; alert ClocksDiffer from 5 s on', ['max by (service, peer) (rpc_peer_clock_skew_seconds)', '{{peer}}, by {{service}}']),
      panel('Event loop delay, p99', 's', 'The worst replica of each service; 0.1 s is none', ['max by (service) (nodejs_eventloop_lag_p99_seconds)', '{{service}}']),
    ],
  },
  {
    uid: 'plant-shop-gateway',
    title: 'Plant shop: gateway',
    panels: [
      panel('Requests', 'reqps', 'By operation', [rate('operation', 'http_request_duration_seconds_count'), '{{operation}}']),
      panel('Answers', 'reqps', 'By status; `aborted`: the client left', [rate('status', 'http_request_duration_seconds_count'), '{{status}}']),
      panel('Duration, p95', 's', 'By operation', [quantile('0.95', 'le, operation', 'http_request_duration_seconds_bucket'), '{{operation}}']),
      panel('Refused for their rate', 'reqps', '429', [rate('operation', 'http_request_duration_seconds_count{status="429"}'), '{{operation}}']),
      panel('Requests in flight', 'short', 'Per replica; MAX_IN_FLIGHT bounds it', ['http_requests_in_flight', '{{instance}}']),
      panel('Bodies in memory', 'bytes', 'Per replica; MAX_BODY_MIB bounds it', ['http_body_bytes_in_flight', '{{instance}}']),
      panel('Calls to services under way', 'short', 'Per replica', ['rpc_calls_in_flight{service="gateway"}', '{{instance}}']),
      sizes('Calls in one message', 'More where there is more to do: that is what keeps a call cheap', 'rpc_frame_calls_bucket{service="gateway"}'),
      panel('Revocations last seen', 's', 'Beyond 1 s credentials are refused', ['revocation_log_age_seconds{service="gateway"}', '{{instance}}']),
      ...processes('gateway'),
    ],
  },
  {
    uid: 'plant-shop-store',
    title: 'Plant shop: store',
    panels: [
      ...calls('store'),
      panel('Orders that wait for a batch', 'short', 'Per replica. Alert OrdersWait from 1,000 on', ['store_orders_waiting', '{{instance}}']),
      sizes('Orders in one batch', 'At most 256; each batch is one transaction', 'store_batch_orders_bucket'),
      panel('Orders set aside', 'short', 'They are due and Postgres refuses to move them. Alert OrdersSetAside from 1 on', ['max(store_orders_set_aside)', 'orders']),
      panel('Refunds due', 'short', 'Payments that came too late or twice', ['max(store_refunds_due)', 'refunds']),
      panel('Oldest refund due', 's', 'Alert RefundsDue from a day on', ['max(store_refund_oldest_due_seconds)', 'oldest']),
      panel('Payment reports that wait for a batch', 'short', 'Per replica', ['store_payments_waiting', '{{instance}}']),
      sizes('Payment reports in one batch', 'At most 256; each batch is one transaction', 'store_batch_payments_bucket'),
      pool('store'),
      panel('Feed: events without a number', 'short', 'Nobody can follow them; more than a few for a minute and nobody numbers', ['max(feed_unnumbered)', 'events']),
      panel('Feed: events not passed', 'short', 'By follower', ['max by (follower) (feed_follower_lag)', '{{follower}}']),
      panel('Feed: age of the first event not passed', 's', 'By follower. Alert FeedFollowerBehind from 60 s on', ['max by (follower) (feed_follower_behind_seconds)', '{{follower}}']),
      panel('Feed: follower asked last', 's', 'By follower. Alert FeedFollowerAbsent from a day on', ['min by (follower) (feed_follower_unseen_seconds)', '{{follower}}']),
      panel('Feed: oldest event kept', 's', 'FEED_RETENTION_DAYS, longer while a follower holds it back', ['max(feed_oldest_age_seconds)', 'oldest']),
      ...processes('store'),
    ],
  },
  {
    uid: 'plant-shop-notifications',
    title: 'Plant shop: notifications',
    panels: [
      panel('Connections', 'short', 'Per replica; it scales by them. Alert StreamFull when no replica has room for more', ['sum by (instance) (stream_connections)', '{{instance}}'], ['sum(stream_full)', 'full replicas']),
      panel('Events sent', 'ops', 'By transport', [rate('transport', 'stream_frames_total'), '{{transport}}']),
      panel('From reaching notifications to frame', 's', 'It scales by that, from a p95 of 1 s on: what the store took before is left out', [quantile('0.5', 'le', 'stream_send_lag_seconds_bucket'), 'p50'], [quantile('0.95', 'le', 'stream_send_lag_seconds_bucket'), 'p95']),
      panel('From change to frame', 's', 'Alert EventsLate: p95 above 1 s', [quantile('0.5', 'le', 'stream_lag_seconds_bucket'), 'p50'], [quantile('0.95', 'le', 'stream_lag_seconds_bucket'), 'p95']),
      panel('Connections ended', 'ops', 'By close code; 4101 are slow clients', [rate('code', 'stream_closes_total'), '{{code}}']),
      panel('Refused', 'ops', 'By code of the problem', [rate('code', 'stream_refusals_total'), '{{code}}']),
      panel('Feed: events not in the log', 'short', 'Per replica', ['notifications_feed_lag', '{{instance}}']),
      panel('Feed: behind', 's', 'Per replica: since when the log lacks events of the store', ['notifications_feed_behind_seconds', '{{instance}}']),
      panel('Reads of the log', 'ops', 'For events that no other replica told of, and for clients that resume from far back', [rate('service', 'stream_ring_misses_total'), 'not told'], [rate('service', 'stream_pages_read_total'), 'resumed']),
      panel('Held back', 'short', '1: nothing is sent, because revocations are not seen', ['max by (instance) (stream_held)', '{{instance}}']),
      panel('Webhooks: attempts', 'ops', 'By class of the answer; none: there was no answer', [rate('status', 'webhook_attempts_total'), '{{status}}']),
      panel('Webhooks: ended deliveries', 'ops', 'By outcome', [rate('outcome', 'webhook_deliveries_total'), '{{outcome}}']),
      panel('Webhooks: waiting', 'short', 'Held: their endpoint is disabled', ['max(webhook_deliveries_pending)', 'pending'], ['max(webhook_deliveries_held)', 'held'], ['max(webhook_endpoints_paused)', 'paused endpoints']),
      panel('Webhooks: oldest undelivered', 's', 'Alert WebhooksPileUp from an hour on', ['max(webhook_oldest_undelivered_seconds)', 'oldest']),
      panel('Webhooks: behind the log', 's', 'Deliveries not made yet; alert WebhooksNotMade for endpoints of own orders, from a minute on', ['max(webhook_log_behind_seconds)', 'own orders'], ['max(webhook_cursors_behind_seconds)', 'all orders']),
      panel('Webhooks: deliveries made', 'ops', 'By what their endpoints see', [rate('endpoints', 'webhook_deliveries_made_total'), '{{endpoints}}']),
      panel('Webhooks: attempts under way', 'short', 'Per replica; each owner has at most WEBHOOK_IN_FLIGHT of them. It scales by them, from half of the limit on', ['webhook_attempts_in_flight', '{{instance}}'], ['max(webhook_attempts_limit)', 'limit']),
      panel('Webhooks: waiting for a replica', 'short', 'Due now and within the limits of their endpoints; it scales by them. Alert WebhooksWait from 2,000 on', ['max(webhook_deliveries_waiting)', 'deliveries']),
      sizes('Webhooks: outcomes in one batch', 'Written down together', 'webhook_batch_outcomes_bucket'),
      pool('notifications'),
      panel('Log: oldest event', 's', 'EVENT_LOG_RETENTION_DAYS, longer while somebody needs it', ['max(event_log_oldest_age_seconds)', 'oldest']),
      ...processes('notifications'),
    ],
  },
];
