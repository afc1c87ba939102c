import { createPublicKey, verify as verifyBytes } from "node:crypto";
import { readFileSync } from "node:fs";

/** A file of the vectors of the format; whole numbers that a double cannot hold are BigInts. */
export function vectors(name) {
  const text = readFileSync(new URL(`../../../vectors/${name}.json`, import.meta.url), "utf8");
  const marked = text.replace(/("value": )(-?\d{16,})(?=[,}\s])/g, '$1{"whole": "$2"}');
  return JSON.parse(marked, (_, value) => (typeof value?.whole === "string" ? BigInt(value.whole) : value));
}

/** Whether an Ed25519 signature is valid, by node. */
export function verify(author, signature, text) {
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(author, "hex").toString("base64url") }, format: "jwk" });
  return verifyBytes(null, Buffer.from(text), key, Buffer.from(signature, "hex"));
}
