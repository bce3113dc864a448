// Paths and names of an installation. A guard compares them with units, sysusers and tmpfiles.

export const PLACES = {
  /** Programs of every version; only root writes here. */
  programs: '/opt/roomtone',
  /** A link to the version in use: /opt/roomtone/versions/<version>/roomtone. */
  executable: '/opt/roomtone/bin/roomtone',
  versions: '/opt/roomtone/versions',
  /** For people: in everybody's PATH, a link to `executable`. */
  command: '/usr/local/bin/roomtone',
  settings: '/etc/roomtone',
  agentSettings: '/etc/roomtone/recorder-agent.env',
  controllerSettings: '/etc/roomtone/controller.env',
  lifecycleSettings: '/etc/roomtone/lifecycle.env',
  /** What root permits a setup stick; written by root only. */
  provisionSettings: '/etc/roomtone/provision.env',
  /** Certificate authority of the controller, as the installer or the stick brought it. */
  controllerCa: '/etc/roomtone/controller-ca.pem',
  /** The site's certificate authority and the controller's certificate, on the controller. */
  tls: '/etc/roomtone/tls',
  /** The same for a lifecycle runner, which may be on another box than a recorder. */
  lifecycleCa: '/etc/roomtone/lifecycle-ca.pem',
  /** Secrets of services, where systemd looks for them; only root reads it. */
  credentials: '/etc/credstore',
  /** Ed25519 public key (PEM) releases must be signed with, where a site asks for that. */
  releaseKey: '/etc/roomtone/release-key.pem',
  /** Working directory and state of the agent. */
  agentHome: '/var/lib/roomtone/agent',
  /**
   * Login home of the agent's user. Owned by root, because PAM, shells and systemd read files in it.
   */
  agentLogin: '/var/lib/roomtone/agent-login',
  agentKeys: '/var/lib/roomtone/agent-login/.ssh/authorized_keys',
  controllerHome: '/var/lib/roomtone/controller',
  /** Result of the last setup stick; readable by everybody. */
  setupStatus: '/var/lib/roomtone/setup-status.json',
  units: '/etc/systemd/system',
  sudoers: '/etc/sudoers.d/roomtone',
} as const

export const USERS = { agent: 'roomtone-agent', controller: 'roomtone', lifecycle: 'roomtone-lifecycle' } as const

export const UNITS = {
  agent: 'roomtone-agent.service',
  /** Restarts the agent as soon as no take runs. */
  agentRefresh: 'roomtone-agent-refresh.service',
  controller: 'roomtone-controller.service',
  lifecycle: 'roomtone-lifecycle.service',
  /** Runs for an inserted setup stick. */
  setup: 'roomtone-setup.service',
  setupBoot: 'roomtone-setup-boot.service',
  /** Renews the certificate of `roomtone tls`; its daily timer is wanted by the controller's unit. */
  tlsRenew: 'roomtone-tls-renew.service',
  tlsRenewTimer: 'roomtone-tls-renew.timer',
} as const

/** The only command the agent's user may run as root: the node's half of a lifecycle action. */
export const MAINTAIN_COMMAND = `${PLACES.executable} maintain`

/** The only command of the controller's key, and what the runner sends. */
export const FORCED_COMMAND = `sudo -n ${MAINTAIN_COMMAND}`
