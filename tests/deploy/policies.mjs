import { BlockList, isIPv6 } from 'node:net';

// Policies for all manifests, beyond what schemas can express. Each returns violations in words.

/** @typedef {import('./render.mjs').Manifest} Manifest */
/**
 * @typedef {(manifests: Manifest[], about: { service: string, overlay: string, migrates: boolean, role?: string }) => string[]} Policy
 * role: of the replicas, if they have only one
 */

/** Maximum duration of a graceful shutdown (libs/platform/src/service/service.ts), in seconds. */
const SHUTDOWN_S = 17;

/** The console's nginx writes its configuration when it starts. */
const WRITABLE = ['/tmp', '/etc/nginx/conf.d'];

const NODE = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

/** Addresses that webhooks must never reach. */
const INSIDE = [
  '10.1.2.3', '172.16.0.1', '172.31.255.254', '192.168.1.1', '100.64.0.1', '127.0.0.1', '169.254.169.254', '0.0.0.0', '192.0.0.8', '198.18.0.1', '224.0.0.1',
  '255.255.255.255', '::1', '::', 'fd00::1', 'fe80::1', 'ff02::1', '::ffff:10.1.2.3', '64:ff9b::a01:203', '2002:a01:203::1', '2001:db8::1', '2001::1',
];
const OUTSIDE = ['1.1.1.1', '93.184.215.14', '172.15.0.1', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'];
/** Ports outside the cluster, by policy: HTTPS for webhooks, submission for mail, and NATS for destinations. @type {Record<string, readonly number[]>} */
const OUTWARD = {
  notifications: [443, 8443, 465, 587, 4222],
  'notifications-webhooks': [443, 8443],
  'notifications-mail': [465, 587],
  'notifications-export': [4222],
};

/** @param {Manifest[]} manifests @param {string} kind */
export const ofKind = (manifests, kind) => manifests.filter((one) => one.kind === kind);

/** @param {Manifest} manifest @returns {any} its pod template */
export const podOf = (manifest) => manifest['spec'].template;

/** @param {Manifest[]} manifests */
const workloads = (manifests) => manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');

/** @param {Record<string, string>} selector @param {Record<string, string>} labels */
const selects = (selector, labels) => Object.entries(selector).every(([name, value]) => labels[name] === value);

/**
 * @param {Manifest} manifest
 * @param {Record<string, boolean>} wanted requirements in words, with whether they hold
 */
export const unmet = ({ kind, metadata }, wanted) =>
  Object.entries(wanted).filter(([, holds]) => !holds).map(([what]) => `${kind} ${metadata.name}: ${what}`);

/** @type {Record<string, Policy>} */
export const policies = {
  'a service has each of its manifests exactly once': (manifests, { service, migrates, role }) => {
    const named = (/** @type {string} */ name) => (role === undefined ? name : `${name}-${role}`);
    const parts = ['ConfigMap', 'Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'Service', 'ServiceAccount', 'NetworkPolicy'].map((kind) => `${kind} ${named(service)}`);
    const expected = [...parts, ...(migrates ? [`Job ${named(`${service}-migrate`)}`, `NetworkPolicy ${named(`${service}-migrate`)}`] : [])];
    // A ConfigMap ends with a hash; a Job's name contains its release.
    const unversioned = (/** @type {Manifest} */ { kind, metadata: { name } }) =>
      (kind === 'ConfigMap' ? name.replace(/-[a-z0-9]{10}$/, '') : kind === 'Job' ? name.replace(/-[0-9a-f]{12}(?=-|$)/, '') : name);
    const found = manifests.map((one) => `${one.kind} ${unversioned(one)}`);
    return [
      ...expected.filter((one) => found.filter((other) => other === one).length !== 1).map((one) => `not exactly one ${one}`),
      ...found.filter((one) => !expected.includes(one)).map((one) => `${one} is not expected`),
    ];
  },

  'pods meet the restricted profile and write only to /tmp': (manifests) =>
    workloads(manifests).flatMap((workload) => {
      const { spec } = podOf(workload);
      const user = spec.securityContext ?? {};
      const containers = [...spec.containers, ...(spec.initContainers ?? [])];
      const each = (/** @type {(container: any) => boolean} */ holds) => containers.every(holds);
      return unmet(workload, {
        'does not run as root': user.runAsNonRoot === true && user.runAsUser > 0 && user.runAsGroup > 0 && each((one) => one.securityContext.runAsUser === undefined),
        'uses the runtime\'s seccomp profile': user.seccompProfile?.type === 'RuntimeDefault',
        'displaces what is less important on a full node': spec.priorityClassName === 'plant-shop',
        'mounts no API server token': spec.automountServiceAccountToken === false,
        'gets no service-link variables, which would count as settings': spec.enableServiceLinks === false,
        'shares no host namespace': !spec.hostNetwork && !spec.hostPID && !spec.hostIPC,
        'mounts nothing from the host, and limits writable volumes': (spec.volumes ?? []).every((/** @type {any} */ one) => one.projected || one.emptyDir?.sizeLimit),
        'cannot gain privileges': each((one) => one.securityContext.allowPrivilegeEscalation === false && !one.securityContext.privileged),
        'has no capabilities': each(({ securityContext: { capabilities } }) => capabilities.drop.join() === 'ALL' && !capabilities.add),
        'has a read-only root file system': each((one) => one.securityContext.readOnlyRootFilesystem === true),
        'mounts secrets read-only': each((one) => one.volumeMounts.every((/** @type {any} */ mount) => WRITABLE.includes(mount.mountPath) || mount.readOnly === true)),
        'has requests and limits for CPU and memory': each(({ resources }) =>
          ['requests', 'limits'].every((what) => resources?.[what]?.cpu && resources[what].memory)),
      });
    }),

  'production images are pinned by digest, and no image is tagged latest': (manifests, { service, overlay }) =>
    workloads(manifests).flatMap((workload) =>
      podOf(workload).spec.containers.flatMap((/** @type {{ image: string }} */ { image }) =>
        unmet(workload, {
          [`${image} is the service's image`]: new RegExp(`(^|/)plant-shop/${service}[@:]`).test(image),
          [`${image} is pinned`]: overlay !== 'dev' ? /@sha256:[0-9a-f]{64}$/.test(image) : /:(?!latest$)[\w.-]+$/.test(image),
        }),
      ),
    ),

  'a Job is named by its release, and stays until the next': (manifests, { overlay }) =>
    ofKind(manifests, 'Job').flatMap((job) => {
      const [, digest = ''] = /@sha256:([0-9a-f]{12})/.exec(podOf(job).spec.containers[0].image) ?? [];
      return unmet(job, {
        'contains the beginning of the digest': overlay === 'dev' || (digest !== '' && job.metadata.name.includes(`-migrate-${digest}`)),
        'is not removed': job['spec'].ttlSecondsAfterFinished === undefined,
        'fails with its first container, but not with a node': job['spec'].podFailurePolicy?.rules.map((/** @type {any} */ rule) => rule.action).join() === 'Ignore,FailJob',
      });
    }),

  'a failed migration ends a sync of Argo CD before the pods are replaced': (manifests, { migrates }) => {
    const waveOf = (/** @type {Manifest} */ one) => Number(one.metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
    return migrates ? ofKind(manifests, 'Deployment').flatMap((one) => unmet(one, { 'follows the Job': ofKind(manifests, 'Job').every((job) => waveOf(job) < waveOf(one)) })) : [];
  },

  'pods are probed on the operations port and shut down gracefully': (manifests) =>
    ofKind(manifests, 'Deployment').flatMap((deployment) => {
      const { spec } = podOf(deployment);
      const [container] = spec.containers;
      const asks = (/** @type {any} */ probe, /** @type {string} */ path) => probe?.httpGet?.path === path && probe.httpGet.port === 'ops';
      const pause = Number(container.lifecycle?.preStop?.exec?.command?.[1] ?? 0);
      return unmet(deployment, {
        'exposes the operations port 9090': container.ports.some((/** @type {any} */ one) => one.name === 'ops' && one.containerPort === 9090),
        'has a startup probe on /livez': asks(container.startupProbe, '/livez'),
        'has a liveness probe on /livez': asks(container.livenessProbe, '/livez'),
        'has a readiness probe on /readyz': asks(container.readinessProbe, '/readyz'),
        'waits before it shuts down': pause > 0,
        'has time to shut down': spec.terminationGracePeriodSeconds >= pause + SHUTDOWN_S,
        'is replaced only when its successor is ready': deployment['spec'].strategy.rollingUpdate.maxUnavailable === 0,
        'leaves the number of replicas to the autoscaler': deployment['spec'].replicas === undefined,
        'fails to roll out within three minutes': deployment['spec'].progressDeadlineSeconds <= 180,
      });
    }),

  'pods of a revision are spread over zones and nodes, and soon replaced when their node is lost': (manifests) =>
    ofKind(manifests, 'Deployment').flatMap((deployment) => {
      const { metadata, spec: { topologySpreadConstraints: spreads = [], tolerations = [] } } = podOf(deployment);
      // Counting pods of the previous revision, the scheduler may put all new ones on one node: the old ones leave. Preferences for several keys
      // are all ignored on a node that lacks one of them, so that of nodes is required.
      const spreadsBy = (/** @type {string} */ key, /** @type {string} */ unsatisfiable) =>
        spreads.some((/** @type {any} */ one) => one.topologyKey === key && one.maxSkew === 1 && one.whenUnsatisfiable === unsatisfiable && selects(one.labelSelector.matchLabels, metadata.labels) && one.matchLabelKeys?.join() === 'pod-template-hash');
      const waitsFor = (/** @type {string} */ taint) =>
        tolerations.find((/** @type {any} */ one) => one.key === `node.kubernetes.io/${taint}` && one.operator === 'Exists' && one.effect === 'NoExecute')?.tolerationSeconds ?? 300;
      return unmet(deployment, {
        'prefers different zones': spreadsBy(ZONE, 'ScheduleAnyway'),
        'is spread over nodes': spreadsBy(NODE, 'DoNotSchedule'),
        'is not kept off a node because another is lost or drained': spreads.every((/** @type {any} */ one) => one.whenUnsatisfiable === 'ScheduleAnyway' || one.nodeTaintsPolicy === 'Honor'),
        'leaves an unreachable node within half a minute': waitsFor('unreachable') <= 30,
        'leaves a node that is not ready within half a minute': waitsFor('not-ready') <= 30,
      });
    }),

  'selectors match the service\'s pods but not its migration pods': (manifests) => {
    const [deployment] = ofKind(manifests, 'Deployment');
    if (deployment === undefined) return ['no Deployment'];
    const labels = podOf(deployment).metadata.labels;
    const ports = podOf(deployment).spec.containers[0].ports.map((/** @type {any} */ one) => one.name);
    const others = ofKind(manifests, 'Job').map((job) => podOf(job).metadata.labels);
    const only = (/** @type {Record<string, string>} */ selector) => selects(selector, labels) && !others.some((other) => selects(selector, other));
    return [
      ...unmet(deployment, { 'selects only its pods': only(deployment['spec'].selector.matchLabels) }),
      ...ofKind(manifests, 'Service').flatMap((one) =>
        unmet(one, {
          'selects the pods': only(one['spec'].selector),
          'targets existing ports': one['spec'].ports.every((/** @type {any} */ port) => ports.includes(port.targetPort)),
        })),
      ...ofKind(manifests, 'PodDisruptionBudget').flatMap((one) =>
        unmet(one, { 'selects the pods': only(one['spec'].selector.matchLabels), 'allows draining nodes': one['spec'].maxUnavailable === 1 })),
      ...ofKind(manifests, 'HorizontalPodAutoscaler').flatMap((one) => {
        const { scaleTargetRef, minReplicas, maxReplicas } = one['spec'];
        return unmet(one, {
          'scales the Deployment': scaleTargetRef.kind === 'Deployment' && scaleTargetRef.name === deployment.metadata.name,
          'has room': minReplicas < maxReplicas,
        });
      }),
    ];
  },

  'in production, a service survives the loss of a pod': (manifests, { overlay }) =>
    ofKind(manifests, 'HorizontalPodAutoscaler').flatMap((one) => unmet(one, { 'has at least two replicas': overlay === 'dev' || one['spec'].minReplicas >= 2 })),

  'each pod has exactly one network policy': (manifests) =>
    workloads(manifests).flatMap((workload) => {
      const labels = podOf(workload).metadata.labels;
      const own = ofKind(manifests, 'NetworkPolicy').filter((one) => selects(one['spec'].podSelector.matchLabels, labels));
      return [
        ...unmet(workload, { 'has exactly one policy': own.length === 1 }),
        ...own.flatMap((one) => {
          const rules = [...(one['spec'].ingress ?? []).map((/** @type {any} */ rule) => [rule.from, rule.ports]), ...(one['spec'].egress ?? []).map((/** @type {any} */ rule) => [rule.to, rule.ports])];
          return unmet(one, {
            'covers both directions': one['spec'].policyTypes.join() === 'Ingress,Egress',
            'names peers and ports in each rule': rules.every(([peers, ports]) => peers?.length > 0 && ports?.length > 0),
            'has no empty peer, which would match everything': rules.every(([peers]) => (peers ?? []).every((/** @type {any} */ peer) => peer.ipBlock || peer.podSelector?.matchLabels || peer.namespaceSelector?.matchLabels)),
          });
        }),
      ];
    }),

  'only notifications reaches outside the cluster, and no internal address': (manifests) =>
    ofKind(manifests, 'NetworkPolicy').flatMap((one) => {
      const rules = (one['spec'].egress ?? []).filter((/** @type {any} */ rule) => (rule.to ?? []).some((/** @type {any} */ peer) => peer.ipBlock));
      const blocks = rules.flatMap((/** @type {any} */ rule) => rule.to.map((/** @type {any} */ peer) => peer.ipBlock));
      const ports = OUTWARD[one.metadata.name];
      if (!ports) return unmet(one, { 'reaches only pods': blocks.length === 0 });
      const reached = (/** @type {string} */ address) => blocks.some((/** @type {any} */ block) => covers([block.cidr], address) && !covers(block.except ?? [], address));
      return unmet(one, {
        ...Object.fromEntries(INSIDE.map((address) => [`does not reach ${address}`, !reached(address)])),
        ...Object.fromEntries(OUTSIDE.map((address) => [`reaches ${address}`, reached(address)])),
        [`reaches only ${ports.join()}`]: rules.every((/** @type {{ ports: { port: number }[] }} */ rule) => rule.ports.every(({ port }) => ports.includes(port))),
      });
    }),

  'each file named by a variable is mounted': (manifests) =>
    workloads(manifests).flatMap((workload) => {
      const { spec } = podOf(workload);
      const mounted = spec.volumes
        .flatMap((/** @type {any} */ volume) => volume.projected?.sources ?? [])
        .filter((/** @type {any} */ source) => !source.secret?.optional)
        .flatMap((/** @type {any} */ source) => source.secret?.items ?? [])
        .map((/** @type {any} */ item) => `/run/secrets/shop/${item.path}`);
      // The mode of a sandbox's migration is the only other variable.
      const named = (spec.containers[0].env ?? []).filter((/** @type {any} */ one) => one.name !== 'SANDBOX').map((/** @type {any} */ one) => one.value);
      return unmet(workload, { [`${named.join(' ')} match the mounted files`]: [...named].sort().join() === [...mounted].sort().join() });
    }),

  'manifests are labelled with their release phase': (manifests) =>
    manifests.flatMap((one) =>
      unmet(one, {
        'is in its phase':
          one.metadata.labels?.['release-phase'] === (['ConfigMap', 'ServiceAccount', 'NetworkPolicy', 'Job'].includes(one.kind) ? 'prepare' : 'rollout'),
      })),

  'no ConfigMap contains a secret': (manifests) =>
    ofKind(manifests, 'ConfigMap').flatMap((one) =>
      Object.entries(one['data']).flatMap(([name, value]) =>
        unmet(one, { [`${name} is not a secret`]: !/(PASSWORD|SECRET|TOKEN|DATABASE_URL|ACCESS_KEY)$/.test(name) && !/:\/\/[^/]*@/.test(value) }))),
};

/** Instances of a database are on different nodes, and in different zones if there are as many. @param {Manifest} cluster CloudNativePG's */
export function databaseFaults(cluster) {
  const { affinity, topologySpreadConstraints: spreads = [] } = cluster['spec'];
  return unmet(cluster, {
    'displaces services on a full node': cluster['spec'].priorityClassName === 'plant-shop-data',
    'has each instance on its own node': affinity?.enablePodAntiAffinity === true && affinity.podAntiAffinityType === 'required' && affinity.topologyKey === NODE,
    'prefers a zone for each instance': spreads.some((/** @type {any} */ one) =>
      one.topologyKey === ZONE && one.maxSkew === 1 && one.whenUnsatisfiable === 'ScheduleAnyway' && one.labelSelector?.matchLabels?.['cnpg.io/cluster'] === cluster.metadata.name),
  });
}

/** NATS servers are spread over all nodes that can run one, and over zones if possible. @param {Record<string, any>} values of NATS's chart */
export function natsFaults(values) {
  const { [NODE]: node, [ZONE]: zone } = values['podTemplate'].topologySpreadConstraints;
  return unmet({ kind: 'StatefulSet', metadata: { name: 'nats' } }, {
    'displaces services on a full node': values['podTemplate'].merge.spec.priorityClassName === 'plant-shop-data',
    'has its servers on different nodes': node?.maxSkew === 1 && node.whenUnsatisfiable === 'DoNotSchedule',
    'moves from a node that is lost or drained': node?.nodeTaintsPolicy === 'Honor',
    'prefers different zones': zone?.maxSkew === 1 && zone.whenUnsatisfiable === 'ScheduleAnyway',
  });
}

/**
 * All manifests of a namespace together: each pod belongs to one Deployment with its autoscaler, budget, network policy and Service. An autoscaler
 * whose pods match another's, too, does nothing (`AmbiguousSelector`).
 * @param {Manifest[]} manifests
 */
export function overlaps(manifests) {
  const pods = workloads(manifests).map((workload) => ({ workload: `${workload.kind} ${workload.metadata.name}`, isReplica: workload.kind === 'Deployment', labels: podOf(workload).metadata.labels }));
  const selectors = [
    ...ofKind(manifests, 'Deployment').map((one) => ({ one, selector: one['spec'].selector.matchLabels })),
    ...ofKind(manifests, 'Service').map((one) => ({ one, selector: one['spec'].selector })),
    ...ofKind(manifests, 'PodDisruptionBudget').map((one) => ({ one, selector: one['spec'].selector.matchLabels })),
  ];
  const targets = ofKind(manifests, 'HorizontalPodAutoscaler').map((one) => `${one['spec'].scaleTargetRef.kind} ${one['spec'].scaleTargetRef.name}`);
  const matching = selectors.flatMap(({ one, selector }) => {
    const found = pods.filter(({ labels }) => selects(selector, labels)).map(({ workload }) => workload);
    return found.length === 1 ? [] : [`${one.kind} ${one.metadata.name} selects pods of ${found.join(', ') || 'nothing'}`];
  });
  const owned = pods.flatMap(({ workload, isReplica, labels }) => {
    const names = (/** @type {string} */ kind) => selectors.filter(({ one, selector }) => one.kind === kind && selects(selector, labels)).map(({ one }) => one.metadata.name);
    const policies = ofKind(manifests, 'NetworkPolicy').filter((one) => isReplica && selects(one['spec'].podSelector.matchLabels, labels)).map(({ metadata }) => metadata.name);
    const found = [...['Deployment', 'Service', 'PodDisruptionBudget'].map((kind) => [kind, names(kind)]), ['NetworkPolicy', policies], ['HorizontalPodAutoscaler', targets.filter((one) => one === workload)]];
    return found.filter(([, all]) => all?.length !== (isReplica ? 1 : 0)).map(([kind, all]) => `the pods of ${workload} have ${all?.length} × ${kind}: ${all}`);
  });
  return [...matching, ...owned];
}

/** @param {string[]} networks @param {string} address */
function covers(networks, address) {
  const list = new BlockList();
  for (const network of networks) {
    const [base = '', prefix] = network.split('/');
    list.addSubnet(base, Number(prefix), isIPv6(base) ? 'ipv6' : 'ipv4');
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
