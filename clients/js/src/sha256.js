/** SHA-256 (FIPS 180-4). It is here because `crypto.subtle` is missing outside secure contexts. */

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);

/** The first 32 bits of the fraction of a prime's square or cube root, by Newton's method from above. */
function rootBits(prime, power) {
  const target = BigInt(prime) << (32n * power);
  let root = 1n << 37n, next = root;
  do {
    root = next;
    next = ((power - 1n) * root + target / root ** (power - 1n)) / power;
  } while (next < root);
  return Number(root & 0xffffffffn);
}

const ROUNDS = primes.map((prime) => rootBits(prime, 3n));
const START = primes.slice(0, 8).map((prime) => rootBits(prime, 2n));
const turn = (word, ...bits) => bits.reduce((sum, count) => sum ^ (word >>> count) ^ (word << (32 - count)), 0);

/** The 32 bytes of the hash of bytes. */
export function sha256(bytes) {
  const length = bytes.length, padded = new Uint8Array(((length + 72) >> 6) << 6), view = new DataView(padded.buffer);
  padded.set(bytes);
  padded[length] = 0x80;
  view.setUint32(padded.length - 8, length / 2 ** 29);
  view.setUint32(padded.length - 4, length << 3);
  const state = Int32Array.from(START), w = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const x = w[i - 15], y = w[i - 2];
      w[i] = i < 16 ? view.getInt32(block + 4 * i) : w[i - 16] + (turn(x, 7, 18) ^ (x >>> 3)) + w[i - 7] + (turn(y, 17, 19) ^ (y >>> 10));
      const first = h + turn(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i];
      const second = turn(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word; });
  }
  const hash = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => hash.setInt32(4 * i, word));
  return new Uint8Array(hash.buffer);
}

/** Bytes as lower-case hexadecimal digits. */
export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The hash of a text in UTF-8, in hexadecimal digits. */
export const hashText = (text) => toHex(sha256(new TextEncoder().encode(text)));
