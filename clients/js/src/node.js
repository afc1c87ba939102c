/** Where a ledger keeps its value in node: a file, and a lock beside it. */

import { randomUUID } from "node:crypto";
import { link, open, readFile, readlink, realpath, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { LdpsqlError } from "./json.js";
import { parse } from "./stores.js";

const orElse = (fallback, ...codes) => (error) => {
  if (codes.length && !codes.includes(error.code)) throw error;
  return fallback;
};

/** What a file holds; nothing where there is none. */
const readText = (path) => readFile(path, "utf8").catch(orElse(undefined, "ENOENT"));

/** A file whose content is there after a loss of power, too, once this resolves. */
async function writeSafely(path, text) {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Which start of a process this is, so that its number is not taken for another one's; "" where the system does not say. */
async function bornAt(pid) {
  const [boot, line] = await Promise.all(["/proc/sys/kernel/random/boot_id", `/proc/${pid}/stat`].map((path) => readFile(path, "utf8").catch(() => "")));
  return line && `${boot.trim()} ${line.slice(line.lastIndexOf(")")).split(" ")[20]}`;
}

/** Where numbers of processes mean the same as here. */
const here = async () => `${hostname()} ${await readlink("/proc/self/ns/pid").catch(() => "")}`;

async function isDead({ place, pid, born }) {
  if (place !== (await here())) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return true;
  }
  return born !== "" && born !== (await bornAt(pid));
}

/** Make a lock, a file that names its owner; a lock of a process that has ended is removed. Error where it is not free in time. */
async function take(lock, end) {
  const id = randomUUID(), own = `${lock}.${id}.new`;
  await writeFile(own, JSON.stringify({ id, place: await here(), pid: process.pid, born: await bornAt(process.pid) }), { flag: "wx", mode: 0o600 });
  try {
    // A link is made whole, and by one process alone.
    while (!(await link(own, lock).then(() => true, orElse(false, "EEXIST")))) {
      const owner = parse((await readText(lock)) ?? "");
      if (owner && (await isDead(owner))) await remove(lock, owner.id, end);
      else if (Date.now() > end) throw new LdpsqlError("ledger", `the lock ${lock} is held by process ${owner?.pid} of ${owner?.place}: wait for it, or remove the file if that has ended; nothing was sent`);
      else await setTimeout(5);
    }
  } finally {
    await rm(own, { force: true });
  }
}

/** Remove a dead process's lock, and no later one: whoever removes it holds a lock for that. */
async function remove(lock, id, end) {
  const claim = `${lock}.${id}`;
  await take(claim, end);
  try {
    if (parse((await readText(lock)) ?? "")?.id === id) await rm(lock);
  } finally {
    await rm(claim);
  }
}

/**
 * In a file that only its owner can read (mode 0600).
 *
 * A change is on the disk, whole, before `update` resolves, and no two processes or threads of one
 * machine change it at once: a process that is killed leaves the last value or the next one, and a
 * lock that the next process removes. The file's directory must be on a disk that has hard links.
 *
 * patience: milliseconds for which a lock that another process holds is waited for.
 */
export class FileStore {
  constructor(path, { patience = 30_000 } = {}) {
    Object.assign(this, { path: String(path), patience });
    Object.freeze(this);
  }

  async update(change) {
    let problem;
    try {
      // Two names of one file must have one lock.
      const path = await realpath(this.path).catch(async () => join(await realpath(dirname(this.path)), basename(this.path)));
      const lock = `${path}.lock`, next = `${path}.next`;
      await take(lock, Date.now() + this.patience);
      try {
        const text = await readText(path);
        let value;
        try {
          value = change(text === undefined ? undefined : parse(text));
        } catch (error) {
          problem = error;
          throw error;
        }
        // Of a process that was killed.
        await rm(next, { force: true });
        await writeSafely(next, JSON.stringify(value));
        await rename(next, path);
        const directory = await open(dirname(path)).catch(orElse(undefined));
        // Windows has no such thing as a directory that is written.
        await directory?.sync().catch(orElse(undefined)).finally(() => directory.close());
      } finally {
        await rm(lock);
      }
    } catch (error) {
      throw problem ?? (error instanceof LdpsqlError ? error : new LdpsqlError("ledger", `cannot use the ledger ${this.path} (${error.code ?? error.message}); nothing was sent`));
    }
  }
}
