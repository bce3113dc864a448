import { counted } from './counted.ts'

export const nav = {
  label: 'Main',
  today: 'Today',
  rooms: 'Rooms',
  library: 'Library',
  alerts: 'Alerts',
  activity: 'Activity',
  wall: 'Wall',
  settings: 'Settings',
  access: 'Access',
  audit: 'Audit',
  schedule: 'Schedule',
  recorders: 'Recorders',
  me: 'My account',
  more: 'More',
  groups: { admin: 'Administration', fleet: 'Fleet', work: 'Work' },
}

export const common = {
  loading: 'Loading',
  retry: 'Try again',
  showTyped: 'Show what is typed',
  stop: 'Stop',
  actions: 'Actions',
  cancel: 'Cancel',
  choose: 'Choose one from the list.',
  close: 'Close',
  copied: 'Copied.',
  copy: 'Copy',
  copyByHand: 'Select the text and copy it by hand.',
  delete: 'Delete',
  edit: 'Edit',
  all: 'all',
  filters: 'Filters',
  clearFilters: 'Clear filters',
  needs: (permission: string) => `Takes the permission ${permission}.`,
  previous: 'Previous',
  next: 'Next',
  noMatch: 'Nothing matches.',
  none: 'none',
  page: (from: number, to: number, total: string) => `${from} to ${to} of ${total}`,
  remove: 'Remove',
  save: 'Save',
  saved: 'Saved.',
  search: 'Search',
  select: 'Select',
  selectAll: 'Select all on this page',
  selected: (n: number) => `${n} selected`,
  selectRow: (name: string) => `Select ${name}`,
  typeName: (name: string) => `Type ${name} to confirm`,
  undo: 'Undo',
  unset: 'not set',
}

export const login = {
  title: 'Sign in',
  email: 'E-mail',
  password: 'Password',
  submit: 'Sign in',
  wrong: 'E-mail or password is wrong.',
  provider: (kind: string) => `Sign in with ${kind === 'azure_ad' ? 'Microsoft' : 'your organisation'}`,
  inNewTab: (deed: string) => `${deed}, in a new tab`,
  ended: 'Your session has ended. Sign in again.',
  ends: (at: string) => `Your session ends at ${at}.`,
  stay: 'Stay signed in',
  signOut: 'Sign out',
}

export const live = {
  reload: 'Reload for the new version',
  unsent: 'Not connected: nothing can be sent now.',
  lost: (since: string) => `Not connected since ${since}. What you see may be old.`,
}

export const failures = {
  denied: 'You may not see this',
  refused: 'You may not do this',
  old: 'This could not be refreshed. What you see may be old.',
  deniedBecause: (permission: string) => `It takes the permission ${permission}. Whoever manages access can give it.`,
  gone: 'This is gone, or not yours to see.',
  offline: 'The controller cannot be reached.',
  slow: 'No answer in time. It may have been done all the same: look before you try again.',
  failed: 'That did not work',
  page: 'This page has failed.',
  tooOften: (seconds: number) => `Too many requests. Try again in ${counted(seconds, 'second', 'seconds')}.`,
}

export const keys = {
  title: 'Keyboard',
  key: 'Key',
  what: 'What it does',
  single: 'Single keys (? and /) work',
  named: {
    Space: 'Space',
    'Page Up': 'Page Up',
    'Page Down': 'Page Down',
    'Shift ↑': 'Shift ↑',
    'Shift ↓': 'Shift ↓',
  } as Record<string, string>,
  does: {
    help: 'This help',
    search: 'To the search of the page',
    rows: 'In a list: from row to row',
    play: 'In the player: play and pause',
    jump: 'In the player: 5, 10 or 30 seconds back and forth',
    lift: 'On a card of the schedule: lift it, and drop it',
    carry: 'A lifted card: other day, other time',
    hour: 'A lifted card: an hour',
    back: 'Give a lifted card back; close a dialog',
  },
}

export const dock = {
  ended: (name: string) => `You no longer hear ${name}: the recorder sends no sound any more.`,
  enhanced: 'Noise suppressed, where available',
  failed: (name: string) => `You do not hear ${name}.`,
  level: (db: string) => `Level ${db} dBFS`,
  limit: (name: string) =>
    `You no longer hear ${name}: listening ends by itself after 30 minutes. Listen again if you want to go on.`,
}

export const player = {
  drawing: 'The waveform is being drawn.',
  undrawn: 'The waveform could not be read.',
}

export const screen = {
  more: (n: number) =>
    `${counted(n, 'more recorder is', 'more recorders are')} not shown: make a link for fewer rooms.`,
}
