// In CI what takes long takes turns (scripts/test): a fifth at each commit; without CI everything is done.

const { TEST_TURN } = process.env
const TURNS = 5

/** How many requests, rounds or days are this turn's. */
export const shareOf = (whole: number): number => (TEST_TURN === undefined ? whole : whole / TURNS)

/** Those whose turn it is; five turns have all of them. */
export const ofTurn = <T>(all: Iterable<T>): T[] =>
  [...all].filter((_, n) => TEST_TURN === undefined || n % TURNS === Number(TEST_TURN))

/** Which of the turns it is, from 0; 0 where there are none. */
export const TURN = Number(TEST_TURN ?? 0)
