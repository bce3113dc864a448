export const welcome = {
  title: 'Welcome',
  step: (n: number, of: number) => `Step ${n} of ${of}`,
  password: 'Choose your password',
  passwordWhy: (email: string) => `Use it to sign in as ${email} from any machine.`,
  site: 'Name the site',
  room: 'Bring the first room online',
  roomWhy: 'A recorder and a name are all it takes.',
  roomThere: 'There is a room already. You can add more at any time.',
  skip: 'Later',
  toDo: 'To do',
  toToday: 'Go to Today',
  linkSpent:
    'This link was used or has expired. Sign in with your password, or run `roomtone user link EMAIL` on the controller for a new link.',
}
