// The dashboards' panels. `npm run dashboards` generates Grafana's files from them; tests/deploy/observability.test.mjs checks that
// these are current and that every metric exists.

/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} description
 * @property {string} unit Grafana's name of the unit
 * @property {{ expr: string, legend: string }[]} queries
 */

/** @typedef {{ uid: string, title: string, panels: Panel[] }} Dashboard */

/** @param {string} title @param {string} unit @param {string} description @param {...[expr: string, legend: string]} queries @returns {Panel} */
const panel = (title, unit, description, ...queries) => ({ title, unit, description, queries: queries.map(([expr, legend]) => ({ expr, legend })) });

/** @param {string} share @param {string} by @param {string} histogram with its selector */
const quantile = (share, by, histogram) => `histogram_quantile(${share}, sum by (${by}) (rate(${histogram}[$__rate_interval])))`;

/** @param {string} by @param {string} counter with its selector */
const rate = (by, counter) => `sum by (${by}) (rate(${counter}[$__rate_interval]))`;

/** Panels of every service that answers calls. @param {string} service @returns {Panel[]} */
const calls = (service) => [
  panel('Calls', 'reqps', 'Answered calls by operation', [rate('operation', `rpc_operation_duration_seconds_count{service="${service}"}`), '{{operation}}']),
  panel('Failed calls', 'reqps', 'By code. Client errors (not found, conflict) are normal; `unavailable`, `overloaded` and `internal` are not', [rate('code', `rpc_operation_duration_seconds_count{service="${service}",code!="ok"}`), '{{code}}']),
  panel('Duration of calls, p95', 's', 'From receiving a call to its answer, by operation', [quantile('0.95', 'le, operation', `rpc_operation_duration_seconds_bucket{service="${service}"}`), '{{operation}}']),
  panel('Calls in progress', 'short', 'Per replica; calls beyond MAX_IN_FLIGHT are refused', [`rpc_in_flight{service="${service}"}`, '{{instance}}']),
];

/** Panels of every process. @param {string} service @returns {Panel[]} */
const processes = (service) => [
  panel('Event loop delay, p99', 's', 'Per replica. Sampled every 0.1 s, which is its value at rest; above 0.5 s the process is limited by one core', [`nodejs_eventloop_lag_p99_seconds{service="${service}"}`, '{{instance}}']),
  panel('CPU', 'percentunit', 'Share of one core, per replica', [`rate(process_cpu_seconds_total{service="${service}"}[$__rate_interval])`, '{{instance}}']),
  panel('Memory', 'bytes', 'Resident, per replica', [`process_resident_memory_bytes{service="${service}"}`, '{{instance}}']),
];

/** The panel of a service with a database. @param {string} service */
const pool = (service) =>
  panel('Database connections', 'short', '`waiting`: callers that wait for a connection. If lasting, the pool is too small or statements are slow',
    [`sum by (state) (db_pool_connections{service="${service}"})`, '{{state}}'], [`sum(db_pool_size{service="${service}"})`, 'limit']);

/** @param {string} title @param {string} description @param {string} histogram with its selector @returns {Panel} */
const sizes = (title, description, histogram) =>
  panel(title, 'short', description, ...['0.5', '0.95'].map((share) => /** @type {[string, string]} */ ([quantile(share, 'le', histogram), share])));

/** @type {Dashboard[]} */
export const dashboards = [
  {
    uid: 'plant-shop-objectives',
    title: 'Plant shop: objectives',
    panels: [
      panel('Error budget left, 28 days', 'percentunit', 'What may still fail of 28 days. Alerts BudgetBurnsFast and BudgetBurnsSlowly', ['objective:budget_left:ratio', '{{objective}}']),
      panel('Burn rate, 1 h', 'short', 'At 1 the budget lasts exactly 28 days. Alert BudgetBurnsFast from 13.44', ['objective:bad:ratio_rate1h / objective:budget:ratio', '{{objective}}']),
      panel('Failing share, 5 min', 'percentunit', 'Of requests, frames, or time', ['objective:bad:ratio_rate5m', '{{objective}}']),
    ],
  },
  {
    uid: 'plant-shop-overview',
    title: 'Plant shop: overview',
    panels: [
      panel('Running replicas', 'short', 'By service; the gateway is counted by its HTTP metrics', ['count by (service) (rpc_in_flight)', '{{service}}'], ['count by (service) (http_requests_in_flight)', '{{service}}']),
      panel('Requests', 'reqps', 'Responses of the gateway by status', [rate('status', 'http_request_duration_seconds_count'), '{{status}}']),
      panel('Share of 5xx', 'percentunit', 'The share of requests that fail', ['sum(rate(http_request_duration_seconds_count{status=~"5.."}[$__rate_interval])) / sum(rate(http_request_duration_seconds_count[$__rate_interval]))', '5xx']),
      panel('Duration of requests', 's', 'From routing a request to the end of its response', ...['0.5', '0.95', '0.99'].map((share) => /** @type {[string, string]} */ ([quantile(share, 'le', 'http_request_duration_seconds_bucket'), share]))),
      panel('Orders placed', 'reqps', 'Calls of store.placeOrder by outcome', [rate('code', 'rpc_operation_duration_seconds_count{service="store",operation="placeOrder"}'), '{{code}}']),
      panel('Feed: age of the first unread event', 's', 'By follower. Alert FeedFollowerBehind from 60 s', ['max by (follower) (feed_follower_behind_seconds)', '{{follower}}']),
      panel('From status change to client, p95', 's', 'Objective frames-fast: 1 s', [quantile('0.95', 'le', 'stream_lag_seconds_bucket'), 'stream']),
      panel('Oldest undelivered webhook', 's', 'One dead receiver raises it', ['max(webhook_oldest_undelivered_seconds)', 'oldest']),
      panel('Revocations last seen', 's', 'Beyond 1 s credentials are refused; alert RevocationsNotSeen', ['max by (service) (revocation_log_age_seconds)', '{{service}}']),
      panel('Clock skew: ahead of other services', 's', 'As measured by other services. Alert ClocksDiffer from 5 s', ['max by (service, peer) (rpc_peer_clock_skew_seconds)', '{{peer}}, by {{service}}']),
      panel('Event loop delay, p99', 's', 'Worst replica of each service; 0.1 s at rest', ['max by (service) (nodejs_eventloop_lag_p99_seconds)', '{{service}}']),
    ],
  },
  {
    uid: 'plant-shop-gateway',
    title: 'Plant shop: gateway',
    panels: [
      panel('Requests', 'reqps', 'By operation', [rate('operation', 'http_request_duration_seconds_count'), '{{operation}}']),
      panel('Responses', 'reqps', 'By status; `aborted`: the client disconnected', [rate('status', 'http_request_duration_seconds_count'), '{{status}}']),
      panel('Duration, p95', 's', 'By operation', [quantile('0.95', 'le, operation', 'http_request_duration_seconds_bucket'), '{{operation}}']),
      panel('Rate-limited requests', 'reqps', 'Status 429, by operation', [rate('operation', 'http_request_duration_seconds_count{status="429"}'), '{{operation}}']),
      panel('Requests in flight', 'short', 'Per replica; limited by MAX_IN_FLIGHT', ['http_requests_in_flight', '{{instance}}']),
      panel('Bodies in memory', 'bytes', 'Per replica; limited by MAX_BODY_MIB', ['http_body_bytes_in_flight', '{{instance}}']),
      panel('Calls to services in flight', 'short', 'Per replica', ['rpc_calls_in_flight{service="gateway"}', '{{instance}}']),
      sizes('Calls per message', 'Grows with load, which keeps calls cheap', 'rpc_batch_calls_bucket{service="gateway"}'),
      panel('Revocations last seen', 's', 'Beyond 1 s credentials are refused', ['revocation_log_age_seconds{service="gateway"}', '{{instance}}']),
      ...processes('gateway'),
    ],
  },
  {
    uid: 'plant-shop-store',
    title: 'Plant shop: store',
    panels: [
      ...calls('store'),
      panel('Orders waiting for a batch', 'short', 'Per replica. Alert OrdersWait from 1,000', ['store_orders_waiting', '{{instance}}']),
      sizes('Orders per batch', 'At most 128; each batch is one transaction', 'store_batch_orders_bucket'),
      panel('Orders set aside', 'short', 'Due orders whose status change Postgres rejects. Alert OrdersSetAside from 1', ['max(store_orders_set_aside)', 'orders']),
      panel('Refunds due', 'short', 'Payments that arrived too late or twice', ['max(store_refunds_due)', 'refunds']),
      panel('Oldest refund due', 's', 'Alert RefundsDue from one day', ['max(store_refund_oldest_due_seconds)', 'oldest']),
      panel('Payment reports waiting for a batch', 'short', 'Per replica', ['store_payments_waiting', '{{instance}}']),
      sizes('Payment reports per batch', 'At most 256; each batch is one transaction', 'store_batch_payments_bucket'),
      pool('store'),
      panel('Feed: events without a number', 'short', 'Invisible to followers. More than a few for a minute: numbering has stopped', ['max(feed_unnumbered)', 'events']),
      panel('Feed: unread events', 'short', 'By follower', ['max by (follower) (feed_follower_lag)', '{{follower}}']),
      panel('Feed: age of the first unread event', 's', 'By follower. Alert FeedFollowerBehind from 60 s', ['max by (follower) (feed_follower_behind_seconds)', '{{follower}}']),
      panel('Feed: time since the last poll', 's', 'By follower. Alert FeedFollowerAbsent from one day', ['min by (follower) (feed_follower_unseen_seconds)', '{{follower}}']),
      panel('Feed: oldest stored event', 's', 'FEED_RETENTION_DAYS, or longer if a follower has not read it', ['max(feed_oldest_age_seconds)', 'oldest']),
      ...processes('store'),
    ],
  },
  {
    uid: 'plant-shop-identity',
    title: 'Plant shop: identity',
    panels: [
      ...calls('identity'),
      panel('Passwords waiting to be hashed', 'short', 'Per replica. Alert PasswordsWait from 50', ['identity_hashes_waiting', '{{instance}}']),
      panel('Failed logins', 'ops', '`blocked`: beyond the limits. Alert LoginsFail', [rate('outcome', 'identity_login_failures_total'), '{{outcome}}']),
      panel('Second factors', 'ops', 'Added and removed', [rate('change', 'identity_factors_total'), '{{change}}']),
      panel('Refused passkeys', 'ops', 'By reason. Alert PasskeyCopied from the first `counter`', [rate('reason', 'identity_passkeys_refused_total'), '{{reason}}']),
      panel('Changes on the page "Your account"', 'ops', 'By what the user did', [rate('change', 'identity_account_changes_total'), '{{change}}']),
      panel('Sessions that the shop ended', 'ops', '`idle`: nobody used them', [rate('reason', 'identity_sessions_ended_total'), '{{reason}}']),
      panel('Oldest mail that notifications has not taken', 's', 'If it grows, mail is off or notifications is away', ['max(identity_oldest_mail_seconds)', 'oldest']),
      pool('identity'),
      ...processes('identity'),
    ],
  },
  {
    uid: 'plant-shop-notifications',
    title: 'Plant shop: notifications',
    panels: [
      panel('Connections', 'short', 'Per replica; a scaling signal. Alert StreamFull if all replicas are full', ['sum by (instance) (stream_connections)', '{{instance}}'], ['sum(stream_full)', 'full replicas']),
      panel('Events sent', 'ops', 'By transport', [rate('transport', 'stream_frames_total'), '{{transport}}']),
      panel('From arrival at notifications to frame', 's', 'Without the store\'s share. A scaling signal: p95 above 1 s adds replicas', [quantile('0.5', 'le', 'stream_send_lag_seconds_bucket'), 'p50'], [quantile('0.95', 'le', 'stream_send_lag_seconds_bucket'), 'p95']),
      panel('From status change to frame', 's', 'Objective frames-fast: 1 s', [quantile('0.5', 'le', 'stream_lag_seconds_bucket'), 'p50'], [quantile('0.95', 'le', 'stream_lag_seconds_bucket'), 'p95']),
      panel('Connections ended', 'ops', 'By close code; 4101 are slow clients', [rate('code', 'stream_closes_total'), '{{code}}']),
      panel('Refused', 'ops', 'By problem code', [rate('code', 'stream_refusals_total'), '{{code}}']),
      panel('Feed: events missing from the log', 'short', 'Per replica', ['notifications_feed_lag', '{{instance}}']),
      panel('Feed: behind', 's', 'Per replica: how long the log has lacked events of the store', ['notifications_feed_behind_seconds', '{{instance}}']),
      panel('Reads of the log', 'ops', 'For events that other replicas did not announce, and for clients that resume from old cursors', [rate('service', 'stream_ring_misses_total'), 'not announced'], [rate('service', 'stream_pages_read_total'), 'resumed']),
      panel('Held back', 'short', '1: nothing is sent because revocations are not seen', ['max by (instance) (stream_held)', '{{instance}}']),
      panel('Webhooks: attempts', 'ops', 'By class of response; `none`: no response', [rate('status', 'webhook_attempts_total'), '{{status}}']),
      panel('Webhooks: ended deliveries', 'ops', 'By outcome', [rate('outcome', 'webhook_deliveries_total'), '{{outcome}}']),
      panel('Webhooks: waiting', 'short', '`held`: deliveries of disabled endpoints', ['max(webhook_deliveries_pending)', 'pending'], ['max(webhook_deliveries_held)', 'held'], ['max(webhook_endpoints_paused)', 'paused endpoints']),
      panel('Webhooks: oldest undelivered', 's', 'One dead receiver raises it', ['max(webhook_oldest_undelivered_seconds)', 'oldest']),
      panel('Webhooks: behind the log', 's', 'Deliveries not enqueued yet. Alert WebhookEnqueueLag for endpoints of own orders from one minute', ['max(webhook_log_behind_seconds)', 'own orders'], ['max(webhook_cursors_behind_seconds)', 'all orders']),
      panel('Webhooks: deliveries enqueued', 'ops', 'By scope of the endpoints', [rate('endpoints', 'webhook_deliveries_enqueued_total'), '{{endpoints}}']),
      panel('Webhooks: attempts in flight', 'short', 'Per replica; at most WEBHOOK_IN_FLIGHT per owner. A scaling signal: half of the limit adds replicas', ['webhook_attempts_in_flight', '{{instance}}'], ['max(webhook_attempts_limit)', 'limit']),
      panel('Webhooks: waiting for a replica', 'short', 'Due now and within the limits of their endpoints; a scaling signal. Alert WebhooksWait from 2,000', ['max(webhook_deliveries_waiting)', 'deliveries']),
      panel('Mail: attempts', 'ops', 'By outcome; `pending`: tried again. Alert MailNotDelivered', [rate('outcome', 'mail_attempts_total'), '{{outcome}}']),
      panel('Mail: waiting', 'short', '`held`: their users got too many within an hour. `due` is a scaling signal', ['max(mail_waiting)', 'waiting'], ['max(mail_due)', 'due'], ['max(mail_held)', 'held']),
      panel('Mail: oldest', 's', '`overdue`: the first due mail waits for a replica. Alert MailNotDelivered from ten minutes', ['max(mail_oldest_seconds)', 'waiting'], ['max(mail_overdue_seconds)', 'overdue']),
      panel('Destinations: behind the log', 's', 'Alert DestinationBehind from five minutes', ['max by (destination) (destination_behind_seconds)', '{{destination}}'], ['max by (destination, reason) (destination_held)', 'held: {{reason}}']),
      panel('Destinations: events', 'ops', '`duplicate`: the broker had them already', [rate('destination, result', 'destination_events_total'), '{{destination}} {{result}}']),
      sizes('Webhooks: outcomes per batch', 'Recorded in one transaction', 'webhook_batch_outcomes_bucket'),
      pool('notifications'),
      panel('Log: oldest event', 's', 'EVENT_LOG_RETENTION_DAYS, or longer if an endpoint needs it', ['max(event_log_oldest_age_seconds)', 'oldest']),
      ...processes('notifications'),
    ],
  },
];
