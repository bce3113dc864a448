// Where things are on a machine that Roomtone was installed on. Units, sysusers and tmpfiles say the same; a guard compares.

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
  /** What root permits a setup stick; there by root's hand only. */
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
  /** Home of the agent's user where somebody logs in as it: root's, for what stands there is heeded by PAM, shells and systemd. */
  agentLogin: '/var/lib/roomtone/agent-login',
  agentKeys: '/var/lib/roomtone/agent-login/.ssh/authorized_keys',
  controllerHome: '/var/lib/roomtone/controller',
  /** What became of the last setup stick; everybody may read it. */
  setupStatus: '/var/lib/roomtone/setup-status.json',
  units: '/etc/systemd/system',
  sudoers: '/etc/sudoers.d/roomtone',
} as const

export const USERS = { agent: 'roomtone-agent', controller: 'roomtone', lifecycle: 'roomtone-lifecycle' } as const

export const UNITS = {
  agent: 'roomtone-agent.service',
  /** Starts the agent anew as soon as no take runs. */
  agentRefresh: 'roomtone-agent-refresh.service',
  controller: 'roomtone-controller.service',
  lifecycle: 'roomtone-lifecycle.service',
  /** Takes a setup stick when it is put in, and the file of the boot partition at power-on. */
  setup: 'roomtone-setup.service',
  setupBoot: 'roomtone-setup-boot.service',
  /** Renews the certificate of `roomtone tls`, and its daily timer, which the controller's unit wants. */
  tlsRenew: 'roomtone-tls-renew.service',
  tlsRenewTimer: 'roomtone-tls-renew.timer',
} as const

/** What the agent's user may run as root, and nothing else: the node's half of a lifecycle action, asked on stdin. */
export const MAINTAIN_COMMAND = `${PLACES.executable} maintain`

/** The same as that user asks for it: all that the controller's key may do, and what the runner says. */
export const FORCED_COMMAND = `sudo -n ${MAINTAIN_COMMAND}`
