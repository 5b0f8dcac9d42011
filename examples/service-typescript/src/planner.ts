/** Writes decided from what was read: the one transaction that keeps both sides, guarded by what it rests on. */

import { Effect, idOf, unpinned, type Place } from "./actions.js";
import { applied, holds, touches, type Call } from "./calls.js";
import { RewriteError } from "./errors.js";
import { PIN, fingerprint, keyOf, sameItem, type Item } from "./items.js";
import type { Phase, Rewrite, Rules } from "./record.js";
import { other, type Image, type Route, type Side } from "./route.js";

/** More must be read, at the same moment as the rest. */
export class Need extends Error {
  constructor(readonly places: Place[]) {
    super();
  }
}
/** A whole item is to be carried over: its place must be pinned before it is read. */
export class PinFirst extends Error {
  constructor(readonly place: Place) {
    super();
  }
}
/** The application's own condition does not hold. */
export class ConditionLost extends Error {
  constructor(
    readonly position: number,
    readonly item: Item | undefined,
  ) {
    super();
  }
}

/** Places as they were read at one moment; undefined inside is an absent item. */
export type Seen = Map<string, Item | undefined>;

class World {
  readonly effects = new Map<string, Effect>();

  constructor(private readonly seen: Seen) {}

  knows(place: Place): boolean {
    return this.effects.has(idOf(place)) || this.seen.has(idOf(place));
  }

  read(place: Place): Item | undefined {
    if (!this.seen.has(idOf(place))) throw new Need([place]);
    return this.seen.get(idOf(place));
  }

  /** The item there, after the calls so far. */
  at(place: Place): Item | undefined {
    const effect = this.effects.get(idOf(place));
    return effect === undefined ? this.read(place) : effect.after;
  }

  effect(place: Place, after: Item | undefined, guard: Iterable<string> = []): Effect {
    let found = this.effects.get(idOf(place));
    if (found === undefined) {
      found = new Effect(place, this.read(place), after);
      this.effects.set(idOf(place), found);
    }
    found.after = after;
    for (const name of guard) found.guard.add(name);
    return found;
  }

  /** The place stays, and must still be as it was read. */
  unchanged(place: Place, guard: Iterable<string> = []): Effect {
    const known = this.effects.get(idOf(place));
    return this.effect(place, known === undefined ? this.read(place) : known.after, guard);
  }
}

/** The item that a key of the client's form names: in that form, and as it stands at `home`. */
interface Held {
  item: Item | undefined;
  home: Place;
  raw: Item | undefined;
  route?: Route;
  /** Where it would stand on the side that decides, where it is nowhere. */
  looked: Place[];
}

export class Planner {
  readonly hidden: ReadonlySet<string>;

  constructor(
    private readonly rewrite: Rewrite,
    private readonly form: Side,
    private readonly rules: Rules,
    private readonly phase: Phase,
    private readonly nonce: string,
    private readonly warn: (message: string) => void,
  ) {
    const marks = rewrite.routes.map(({ data }) => (data.keepsMark ? undefined : data.mark));
    this.hidden = new Set([PIN, ...marks.filter((mark): mark is string => mark !== undefined)]);
  }

  /** Throws Need, PinFirst, ConditionLost and RewriteError. */
  plan(calls: readonly Call[], seen: Seen): Effect[] {
    const world = new World(seen);
    for (const [position, call] of calls.entries()) this.one(world, position, call);
    return [...world.effects.values()];
  }

  find(seen: Seen, table: string, key: Item): Item | undefined {
    return this.held(new World(seen), table, key).item;
  }

  // --- what stands ---------------------------------------------------------------------------------------------------

  private held(world: World, table: string, key: Item): Held {
    const own = { table, key };
    if (this.rules.authority !== this.form) return this.across(world, own);
    const raw = world.at(own);
    const isOther = raw !== undefined && this.rewrite.sideOf(table, raw) === other(this.form);
    return { item: raw === undefined || isOther ? undefined : unpinned(raw), home: own, raw, looked: [] };
  }

  private across(world: World, own: Place): Held {
    const { authority } = this.rules;
    const there = world.at(own);
    const image = there === undefined ? undefined : this.image(this.form, own.table, there);
    const places: Place[] = image?.kind === "image" ? [{ table: image.route.table(authority), key: image.key }] : [];
    for (const route of this.form === "new" ? this.rewrite.of("new", own.table) : []) {
      places.push(...route.oldKeysOf(own.key).map((key) => ({ table: route.data.source, key })));
    }
    for (const route of this.rewrite.of(this.form, own.table)) {
      // A key that tells its other form by itself.
      const alone = route.attributed(this.form, own.key);
      if (alone.kind === "image") places.push({ table: route.table(authority), key: alone.key });
    }
    const missing = places.filter((place) => !world.knows(place));
    if (missing.length > 0) throw new Need(missing);
    for (const place of places) {
      const raw = world.at(place);
      const found = raw === undefined ? undefined : this.image(authority, place.table, raw);
      if (found?.kind === "image" && found.route.table(this.form) === own.table && sameItem(found.key, own.key)) {
        return { item: unpinned(found.item), home: place, raw, route: found.route, looked: places };
      }
    }
    if (there !== undefined && image?.kind !== "image" && this.rewrite.sideOf(own.table, there) === undefined) {
      return { item: unpinned(there), home: own, raw: there, looked: places };
    }
    if (there === undefined && places.length === 0 && this.phase !== "cutover" && !this.isOfKeys(own.table)) {
      throw new RewriteError("key-unknown", `${fingerprint(own.key)}: in ${this.phase} its twin may not be there to tell`);
    }
    return { item: undefined, home: own, raw: undefined, looked: places };
  }

  /** Whether keys alone say which items of a table have another form: then one that tells none has none. */
  private isOfKeys(table: string): boolean {
    return this.rewrite.routes
      .filter(({ data }) => data.source === table || data.target === table)
      .every(({ data, sourceNames }) => {
        const names = new Set(sourceNames);
        const fields = new Set([...data.old.values()].flatMap(({ parts }) => parts.map((p) => (typeof p === "string" ? "" : p.source))));
        const used = [...data.key.values()].flatMap(({ parts }) => parts.filter((p) => typeof p !== "string"));
        return (
          data.mark === undefined &&
          [...data.where.keys(), ...data.old.keys()].every((name) => names.has(name)) &&
          used.every((one) => fields.has(one.source) || names.has(one.attribute))
        );
      });
  }

  private image(side: Side, table: string, item: Item): (Image & { route: Route }) | undefined {
    let wrong: (Image & { route: Route }) | undefined;
    for (const route of this.rewrite.of(side, table)) {
      const found = route.imageOf(side, item);
      if (found.kind === "image") return { ...found, route };
      if (found.kind === "problem") wrong = { ...found, route };
    }
    return wrong;
  }

  // --- one call ------------------------------------------------------------------------------------------------------

  private one(world: World, position: number, call: Call): void {
    const given = call.kind === "put" ? call.item : call.key;
    const own = { table: call.table, key: keyOf(given, this.rewrite.keyNames(call.table)) };
    const held = this.held(world, own.table, own.key);
    if (held.item === undefined && held.raw !== undefined) {
      const code = call.kind === "put" || call.kind === "update" ? "key-collision" : "wrong-form";
      throw new RewriteError(code, `${fingerprint(own.key)} is the other form of another item`);
    }
    if (!holds(call.condition, held.item)) throw new ConditionLost(position, held.item);
    const after = this.after(call, own.key, held);
    if (this.rules.authority === this.form) this.atHome(world, call, held, after);
    else this.translated(world, call, own, held, after);
  }

  private after(call: Call, key: Item, held: Held): Item | undefined {
    switch (call.kind) {
      case "check":
        return held.item;
      case "delete":
        return undefined;
      case "put": {
        // What names its source is not the application's to know: it stays with the item.
        const kept = Object.entries(held.item ?? {}).filter(([name]) => this.hidden.has(name));
        return { ...Object.fromEntries(kept), ...call.item };
      }
      case "update": {
        const inKey = touches(call.change).find((name) => name in key);
        if (inKey !== undefined) throw new RewriteError("not-expressible", `${inKey} is part of the key`);
        return { ...applied(call.change, held.item ?? {}), ...key };
      }
    }
  }

  // --- the client's form decides -------------------------------------------------------------------------------------

  private atHome(world: World, call: Call, held: Held, after: Item | undefined): void {
    const side = this.rules.authority;
    const own = held.home;
    if (call.kind === "check") {
      world.unchanged(own).judged = call;
      return;
    }
    if (after !== undefined && this.rewrite.sideOf(own.table, after) === other(side)) {
      throw new RewriteError("wrong-form", `${fingerprint(own.key)} is not of the ${this.form} form`);
    }
    const routes = this.rewrite.of(side, own.table);
    const before = held.item === undefined ? [] : routes.map((route) => this.placed(route, side, held.item!));
    const effect = world.effect(own, after);
    Object.assign(effect, { isHome: true, judged: call, hidden: this.hidden, replaces: call.kind === "put" });
    for (const { reads } of before) for (const name of reads) effect.guard.add(name);
    effect.native = call.kind === "update" ? call.change : undefined;
    if (!this.rules.writesTwin) return;
    if (call.kind === "update" && this.asItIs(world, call, held, before)) return;
    const old = new Map(before.flatMap(({ route, place }) => (place === undefined ? [] : [[route, place] as const])));
    const standing = [...old].filter(([route, place]) => this.isMine(route, own, world.read(place))).map(([, one]) => one);
    let carried = false;
    for (const route of after === undefined ? [] : routes) {
      const image = route.imageOf(side, after!);
      if (image.kind === "problem") this.cannot(`${fingerprint(own.key)} would have no other form: ${image.message}`);
      const earlier = old.get(route);
      old.delete(route);
      const place = image.kind === "image" ? { table: route.table(other(side)), key: image.key } : undefined;
      if (earlier !== undefined && (place === undefined || idOf(place) !== idOf(earlier))) {
        this.takeAway(world, route, own, earlier);
      }
      if (place === undefined || image.kind !== "image") continue;
      if (call.kind === "put" && !this.rules.createsTwin) this.takeAway(world, route, own, place);
      else if (this.bring(world, route, own, place, image.item, call.kind === "put")) {
        // Where an earlier twin is missing, whoever adds to the item makes it: that it is missing is checked.
        // But in contract nobody makes one.
        carried ||= earlier === undefined || standing.includes(earlier) || side === "new";
      }
    }
    for (const [route, earlier] of old) this.takeAway(world, route, own, earlier);
    if (call.kind === "update") {
      // What it comes to was told from what was read.
      effect.whole();
      if (held.raw !== undefined && carried) this.pinned(world, standing[0] ?? own);
    }
  }

  private placed(route: Route, side: Side, item: Item): { route: Route; place?: Place; reads: Set<string> } {
    const place = route.attributed(side, item);
    const reads = new Set([...route.imageOf(side, item).reads, ...place.reads]);
    return place.kind === "image" ? { route, place: { table: route.table(other(side)), key: place.key }, reads } : { route, reads };
  }

  private cannot(message: string): void {
    if (this.rules.authority === "new") throw new RewriteError("not-expressible", message);
    this.warn(`${message}; it is written without a twin`);
  }

  /** Whether the update means the same on both sides, so that it goes to each as it was said. */
  private asItIs(
    world: World,
    call: Call & { kind: "update" },
    held: Held,
    before: { route: Route; place?: Place; reads: Set<string> }[],
  ): boolean {
    const reads = before.flatMap((one) => [...one.reads]);
    if (held.item === undefined || !this.isPlain(call.table, touches(call.change), reads)) return false;
    const twins: Place[] = [];
    const missing: Place[] = [];
    for (const { route, place } of before) {
      if (place === undefined) continue;
      const raw = world.at(place);
      if (raw === undefined && !this.rules.createsTwin) missing.push(place);
      else if (!this.isMine(route, held.home, raw)) return false;
      else twins.push(place);
    }
    for (const place of missing) world.unchanged(place);
    for (const place of twins) world.effect(place, world.at(place)).native = call.change;
    return true;
  }

  private isPlain(table: string, names: string[], further: string[]): boolean {
    return this.rewrite.routes
      .filter(({ data }) => data.source === table || data.target === table)
      .every((route) => {
        const special = new Set([...route.specials, ...further, PIN]);
        return names.every((name) => !special.has(name) && (route.data.keep?.has(name) ?? true));
      });
  }

  /** Nothing may have been added meanwhile to an item that goes elsewhere as it was read: that no condition can ask. */
  private pinned(world: World, place: Place): void {
    if (world.read(place)?.[PIN]?.S !== this.nonce) throw new PinFirst(place);
    world.unchanged(place, [PIN]);
  }

  // --- twins ---------------------------------------------------------------------------------------------------------

  private isMine(route: Route, home: Place, twin: Item | undefined): boolean {
    const origin = twin === undefined ? undefined : route.attributed(other(this.rules.authority), twin);
    return origin?.kind === "image" && sameItem(origin.key, home.key);
  }

  private takeAway(world: World, route: Route, home: Place, place: Place): void {
    const raw = world.at(place);
    if (raw === undefined) {
      world.unchanged(place);
      return;
    }
    const origin = route.attributed(other(this.rules.authority), raw);
    if (origin.kind === "image" && sameItem(origin.key, home.key)) world.effect(place, undefined, origin.reads);
  }

  /** Let the twin be as it should, where it is this item's or nobody's. True where it is made there. */
  private bring(world: World, route: Route, home: Place, place: Place, wanted: Item, replaces: boolean): boolean {
    const { authority, createsTwin } = this.rules;
    const raw = world.at(place);
    if (raw === undefined) {
      if (createsTwin) world.effect(place, wanted);
      else world.unchanged(place);
      return createsTwin;
    }
    const origin = route.attributed(other(authority), raw);
    if (origin.kind !== "image") return this.collision(place, "an item that is no twin");
    const isMine = sameItem(origin.key, home.key);
    if (!isMine) {
      const rival = { table: route.table(authority), key: origin.key };
      const owner = world.at(rival);
      const claimed = owner === undefined ? undefined : route.imageOf(authority, owner);
      if (claimed?.kind === "problem" || (claimed?.kind === "image" && sameItem(claimed.key, place.key))) {
        return this.collision(place, `the twin of ${fingerprint(rival.key)}`);
      }
      world.unchanged(rival, claimed?.reads ?? []);
    }
    const effect = world.effect(place, wanted, origin.reads);
    effect.hidden = isMine ? this.hidden : new Set();
    effect.replaces = replaces;
    return !isMine;
  }

  private collision(place: Place, rival: string): boolean {
    const message = `${place.table} ${fingerprint(place.key)} is taken by ${rival}`;
    if (this.rules.authority === "old" && this.form === "old" && this.rewrite.moves) {
      // The old side has no such limit: its write stands, and `migrator verify` tells of the collision.
      this.warn(message);
      return false;
    }
    throw new RewriteError("key-collision", message);
  }

  // --- the other form decides ----------------------------------------------------------------------------------------

  private translated(world: World, call: Call, own: Place, held: Held, after: Item | undefined): void {
    if (after === undefined || call.kind === "check" || call.kind === "delete") {
      this.staysOrGoes(world, call, own, held);
      return;
    }
    const there = this.image(this.form, own.table, after);
    if (there?.kind === "problem") throw new RewriteError("not-expressible", `no other form: ${there.message}`);
    const side = there === undefined ? this.rewrite.sideOf(own.table, after) : undefined;
    if (side === other(this.form)) throw new RewriteError("wrong-form", `${fingerprint(own.key)} is not ${this.form}`);
    if (side !== undefined || (there !== undefined && there.route.data.keep !== undefined)) {
      throw new RewriteError("not-expressible", `${fingerprint(own.key)} has no other form that could stand for it`);
    }
    if (call.kind === "update" && this.asItIsThere(world, call, held, own)) return;
    const image = there?.kind === "image" ? there : undefined;
    const home = image === undefined ? own : { table: image.route.table(this.rules.authority), key: image.key };
    const stays = idOf(held.home) === idOf(home);
    const moves = held.raw !== undefined && !stays;
    if (moves) {
      if (call.kind === "update" && !this.rules.writesTwin) {
        throw new RewriteError("not-expressible", "the item moves on the side that decides, and no twin guards it");
      }
      this.gone(world, held);
    }
    const raw = world.at(home);
    const isOwnTwin = held.route !== undefined && idOf(home) === idOf(own) && this.isMine(held.route, held.home, raw);
    if (raw !== undefined && !stays && !isOwnTwin) {
      throw new RewriteError("key-collision", `${fingerprint(home.key)} is another item's`);
    }
    const effect = world.effect(home, image === undefined ? after : image.item);
    Object.assign(effect, { isHome: true, hidden: this.hidden, replaces: call.kind === "put" });
    effect.whole();
    const made =
      image !== undefined && this.rules.writesTwin && this.keepTwin(world, call, own, held, home, after, image.route);
    if (call.kind === "update" && held.raw !== undefined) {
      const twin = this.rules.writesTwin ? world.read(own) : undefined;
      if ((moves && twin !== undefined) || ((moves || made) && this.rules.authority === "new")) {
        this.pinned(world, twin === undefined ? held.home : own);
      }
    }
  }

  private staysOrGoes(world: World, call: Call, own: Place, held: Held): void {
    if (held.raw === undefined) {
      for (const place of held.looked) world.unchanged(place, Object.keys(world.at(place) ?? {}));
    } else if (call.kind === "check") {
      world.unchanged(held.home, Object.keys(held.raw));
    } else {
      this.gone(world, held);
      if (held.route !== undefined && this.rules.writesTwin) this.takeAway(world, held.route, held.home, own);
    }
  }

  private gone(world: World, held: Held): void {
    const gone = world.effect(held.home, undefined);
    gone.isHome = true;
    gone.whole();
  }

  private asItIsThere(world: World, call: Call & { kind: "update" }, held: Held, own: Place): boolean {
    if (held.raw === undefined || held.route === undefined) return false;
    const image = held.route.imageOf(this.rules.authority, held.raw);
    if (!this.isPlain(call.table, touches(call.change), [...image.reads])) return false;
    const twin = this.rules.writesTwin ? world.at(own) : undefined;
    if (this.rules.writesTwin && twin === undefined && this.rules.createsTwin) return false;
    // The condition was judged by what was read: so all of that must stand, where there is one.
    const judged = call.condition === undefined ? [] : Object.keys(held.raw);
    const absent = Object.keys(call.condition?.equals ?? {}).filter((name) => !(name in own.key));
    const effect = world.effect(held.home, held.raw, [...image.reads, ...judged, ...absent]);
    Object.assign(effect, { native: call.change, isHome: true });
    if (twin !== undefined) world.effect(own, twin).native = call.change;
    else if (this.rules.writesTwin) world.unchanged(own);
    return true;
  }

  /** The twin stands where the client's own form says. True where it is made there. */
  private keepTwin(world: World, call: Call, own: Place, held: Held, home: Place, wanted: Item, route: Route): boolean {
    if (call.kind === "put" && !this.rules.createsTwin) {
      this.takeAway(world, route, held.home, own);
      if (idOf(home) !== idOf(held.home)) this.takeAway(world, route, home, own);
      return false;
    }
    if (held.route !== undefined && this.isMine(held.route, held.home, world.at(own))) {
      // Of this very item as it was: its own twin still, wherever the item goes.
      const effect = world.effect(own, wanted);
      Object.assign(effect, { hidden: this.hidden, replaces: call.kind === "put" });
      return false;
    }
    return this.bring(world, route, home, own, wanted, call.kind === "put");
  }
}
