import type { Severity } from '../../../wire/health.ts'
import type { DeliveryKind, DeliveryStatus, NotificationChannel, RulePreview } from '../../../wire/notifications.ts'
import type { Family } from '../../notifications/rules.rules.ts'
import { counted } from './counted.ts'

const channelStatus: Record<NotificationChannel['status'], string> = {
  disabled: 'off',
  failing: 'failing',
  ready: 'ready',
}

const status: Record<DeliveryStatus, string> = {
  queued: 'waiting',
  sending: 'being sent',
  sent: 'sent',
  failed: 'failed',
}

const deliveryKinds: Record<DeliveryKind, string> = {
  event: 'Alert',
  resolved: 'Alert is over',
  escalation: 'When nobody reacts',
  report: 'Daily report',
  test: 'Test message',
}

const from: Record<Severity, string> = {
  critical: 'Critical only',
  warning: 'Warnings and critical',
  info: 'Every severity',
}

const families: Record<Family, { name: string; what: string }> = {
  watchdog: {
    name: 'Watchdog',
    what: 'Recordings that are silent, clip or hum; recorders that are offline; certificates that expire.',
  },
  agent: {
    name: 'Recorders',
    what: 'What recorders say of themselves: sound devices, disk, clock, takes that could not be made.',
  },
  schedule: { name: 'Schedules', what: 'Scheduled recordings that cannot start.' },
  foresight: { name: 'Foresight', what: 'What will go wrong in the coming hours unless somebody acts.' },
  controller: { name: 'Controller', what: 'Recordings that failed, uploads, and messages that do not arrive.' },
  recording: { name: 'Stored takes', what: 'Takes that are lost or changed where they were uploaded to.' },
  switcher: { name: 'Switchers', what: 'AV switchers that do not answer.' },
}

function preview({ days, events, isLowerBound, messages }: RulePreview): string {
  const since = `In the last ${days} days`
  if (events === 0) return `${since} this would have sent nothing.`
  const least = isLowerBound ? 'at least ' : ''
  return `${since} this would have sent ${least}${counted(messages, 'message', 'messages')} about ${counted(events, 'alert', 'alerts')}.`
}

export const notifications = {
  title: 'Notifications',
  setUp: 'Channels and rules',
  channels: 'Channels',
  channelsExplained: 'The ways messages can go: a mail server, a webhook of another program, or ntfy on a phone.',
  newChannel: 'New channel',
  noChannels: 'No channel yet: nobody can be told of anything.',
  channelStatus,
  carriesPeople: 'carries people’s own mail',
  lastSent: 'Last message sent',
  neverSent: 'Nothing sent yet',
  lastError: 'Last error:',
  test: 'Send a test',
  testing: 'Sending a test. This can take up to 15 seconds.',
  tested: 'The test message was accepted.',
  notTested: 'The test message did not arrive:',
  usedByRules: (n: number) => (n === 0 ? 'No rule uses it.' : `Used by ${counted(n, 'rule', 'rules')}:`),
  linkless:
    'Messages carry no links: the controller does not know its own address. Set SVC_PUBLIC_URL there, and people can open and acknowledge alerts from a message.',
  rules: 'Rules',
  rulesExplained: 'Who is told of what. Without a rule, alerts stand in this console only.',
  newRule: 'New rule',
  noRules: 'No rule yet: nobody is told of anything.',
  channelFirst: 'A rule needs a channel: make one first.',
  placeCount: (n: number) => counted(n, 'place', 'places'),
  gone: 'deleted',
  channel: 'Channel',
  severity: 'How severe',
  from,
  kinds: 'Which alerts',
  everything: 'Everything',
  families,
  noKinds: 'With nothing chosen, the rule sends only its daily report, if it has one.',
  onlyReport: 'Daily report only',
  types: 'Others by their type, comma-separated',
  typesHint: 'For example watchdog.flatline; * stands for any text.',
  where: 'Only at certain places',
  whereHint: 'Every list that is filled narrows it: at these sites, in these rooms, at these recorders.',
  only: { node: 'Recorders', room: 'Rooms', site: 'Sites' },
  add: { node: 'Add a recorder', room: 'Add a room', site: 'Add a site' },
  resolved: 'Say when it is over',
  throttle: 'The same again, at most every (minutes)',
  escalate: 'When nobody acknowledges it, also tell',
  nobody: 'nobody',
  escalateAfter: 'After (minutes)',
  quiet: 'Quiet hours',
  quietFrom: 'From',
  quietTo: 'To',
  quietExcept: 'Told all the same',
  daily: 'Daily report',
  dailyHint: 'What was due and recorded in the 24 hours before, what was lost, and what needs attention.',
  dailyAt: 'At',
  preview,
  previewNothing: 'Choose what is told, and see here how much that would have been.',
  deliveries: 'Sent messages',
  noDeliveries: 'No message matches.',
  rule: 'Rule',
  when: 'When',
  what: 'What',
  status,
  deliveryKinds,
  attempts: (n: number) => counted(n, 'attempt', 'attempts'),
  nextAt: 'next:',
  ownMail: 'your own mail',
  peoplesMail: 'a person’s own mail',
  retry: 'Send again',
  again: 'It is sent again.',
  ofAlert: 'Messages about it',
  toDo: 'Say who is told when something goes wrong: so far, nobody is',
  dismiss: 'Not needed',
  mail: 'Mail about alerts',
  mailMe: 'Mail me about alerts',
  mailFrom: 'From which severity',
  mailTo: (email: string) => `Goes to ${email}, about what you may see.`,
  undelivered:
    'Nothing is sent so far: no channel carries people’s own mail. Whoever manages the settings can mark a mail channel for it, under Settings, Notifications.',
  unreadable:
    'You would never get any mail: it covers only what you may see, and you may not see alerts anywhere. Whoever manages access can give you a role and a place.',
}
