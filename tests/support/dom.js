// A minimal browser for an edition's page: elements that only store what is set on them.
class Node {
  constructor(tag) { Object.assign(this, { tag, attributes: {}, children: [], dataset: {}, textContent: "" }); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener() {}
  focus() {}
  contains() { return false; }
  querySelectorAll() { return []; }
  querySelector() { return null; }
  get parentElement() { this.parent ??= new Node("div"); return this.parent; }
  /** Return all elements of a tag in this one, in order. */
  all(tag) { return this.children.flatMap((c) => (c instanceof Node ? [...(c.tag === tag ? [c] : []), ...c.all(tag)] : [])); }
  get text() { return this.textContent + this.children.map((c) => (c instanceof Node ? c.text : String(c))).join(""); }
}
class URLSearchParams {
  constructor(text = "") {
    const parts = text.split("&").filter(Boolean).map((part) => part.split("=").map((p) => p.replace(/\+/g, " ")));
    this.pairs = parts.map(([name, value]) => [decodeURIComponent(name), decodeURIComponent(value)]);
  }
  set(name, value) { this.pairs.push([name, value]); }
  [Symbol.iterator]() { return this.pairs[Symbol.iterator](); }
  toString() { return this.pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&"); }
}
const elements = new Proxy({}, { get: (all, id) => (all[id] ??= new Node(id)) });
const document = { getElementById: (id) => elements[id], createElement: (tag) => new Node(tag), querySelectorAll: () => [],
  querySelector: () => null, documentElement: new Node("html"), activeElement: null, title: "" };
const location = { hash: "", pathname: "", search: "" };
const matchMedia = () => ({ matches: false, addEventListener() {} });
const [addEventListener, scrollTo] = [() => {}, () => {}];
