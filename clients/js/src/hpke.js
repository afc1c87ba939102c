/** One message in base mode of HPKE (RFC 9180): DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, by WebCrypto. */

import { LdpsqlError, check } from "./json.js";

const X25519 = { name: "X25519" };
const bytesOf = (text) => new TextEncoder().encode(text);
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
export const fromHex = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));

const VERSION = bytesOf("HPKE-v1"), KEM = join(bytesOf("KEM"), [0, 0x20]), SUITE = join(bytesOf("HPKE"), [0, 0x20, 0, 1, 0, 1]);

/** WebCrypto takes no key without bytes; HMAC fills it up with zeros. */
async function hmac(key, ...parts) {
  const { subtle } = globalThis.crypto, own = await subtle.importKey("raw", key.length ? key : new Uint8Array(32), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", own, join(...parts)));
}

const extract = (salt, suite, label, given) => hmac(salt, VERSION, suite, bytesOf(label), given);
/** At most the bytes of one hash. */
const expand = async (key, suite, label, context, length) => (await hmac(key, [0, length], VERSION, suite, bytesOf(label), context, [1])).slice(0, length);

/** The key and the nonce of a message, from what X25519 gives. */
async function derive(secret, sent, recipient, info) {
  const shared = await expand(await extract([], KEM, "eae_prk", secret), KEM, "shared_secret", join(sent, recipient), 32);
  // Mode 0, without a key that both had before.
  const context = join([0], await extract([], SUITE, "psk_id_hash", []), await extract([], SUITE, "info_hash", info));
  const mixed = await extract(shared, SUITE, "secret", []);
  return [await expand(mixed, SUITE, "key", context, 16), await expand(mixed, SUITE, "base_nonce", context, 12)];
}

/**
 * Bytes that only the owner of a public key (64 hexadecimal digits) can read: the sender's key, and the encrypted text.
 *
 * own: the sender's pair of keys, for this message alone; drawn if left out. LdpsqlError for a
 * recipient's key of small order, with which anybody could read it, and where WebCrypto lacks X25519.
 */
export async function seal(text, recipient, info, associated, own) {
  const subtle = globalThis.crypto?.subtle, key = fromHex(recipient);
  let sent, there;
  try {
    own ??= await subtle.generateKey(X25519, false, ["deriveBits"]);
    sent = new Uint8Array(await subtle.exportKey("raw", own.publicKey));
    there = await subtle.importKey("raw", key, X25519, false, []);
  } catch {
    throw new LdpsqlError("not allowed", "this system has no crypto.subtle with X25519, which encryption to a shuffler needs; nothing was sent");
  }
  // Some systems refuse a key of small order, others give zeros.
  const secret = new Uint8Array(await subtle.deriveBits({ ...X25519, public: there }, own.privateKey, 256).catch(() => []));
  check(secret.some(Boolean), "encryption", "must not be a key with which anybody can read what is encrypted to it");
  const [cipher, iv] = await derive(secret, sent, key, bytesOf(info));
  const aes = await subtle.importKey("raw", cipher, "AES-GCM", false, ["encrypt"]);
  return join(sent, new Uint8Array(await subtle.encrypt({ name: "AES-GCM", iv, additionalData: bytesOf(associated) }, aes, bytesOf(text))));
}
