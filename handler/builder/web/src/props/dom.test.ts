// As much of a document as Preact draws into, for tests without a browser.
type Listener = (event: unknown) => void;

export class Node {
  childNodes: Node[] = [];
  parentNode: Node | null = null;
  attributes: Record<string, string> = {};
  listeners: Record<string, Listener> = {};
  style: Record<string, string> = {};
  dataset: Record<string, string> = {};
  validity = { badInput: false };
  value = '';
  checked = false;
  disabled = false;
  data = '';
  innerHTML = '';
  ownerDocument = page;
  namespaceURI = 'http://www.w3.org/1999/xhtml';
  constructor(readonly localName: string, readonly nodeType = 1) {}

  get nodeName() { return this.localName.toUpperCase(); }
  get firstChild(): Node | null { return this.childNodes[0] ?? null; }
  get previousSibling(): Node | null { return this.parentNode?.childNodes[this.parentNode.childNodes.indexOf(this) - 1] ?? null; }
  get nextSibling(): Node | null { return this.parentNode?.childNodes[this.parentNode.childNodes.indexOf(this) + 1] ?? null; }
  insertBefore(node: Node, before: Node | null) {
    node.remove();
    const at = before ? this.childNodes.indexOf(before) : -1;
    this.childNodes.splice(at < 0 ? this.childNodes.length : at, 0, node);
    node.parentNode = this;
    return node;
  }
  appendChild(node: Node) { return this.insertBefore(node, null); }
  removeChild(node: Node) { return node.remove(), node; }
  remove() {
    const siblings = this.parentNode?.childNodes;
    if (siblings) siblings.splice(siblings.indexOf(this), 1);
    this.parentNode = null;
  }
  contains(node: Node | null): boolean { return node !== null && (node === this || this.contains(node.parentNode)); }
  setAttribute(name: string, value: string) { this.attributes[name] = String(value); }
  removeAttribute(name: string) { delete this.attributes[name]; }
  toggleAttribute(name: string, on: boolean) { if (on) this.attributes[name] = ''; else delete this.attributes[name]; }
  replaceChildren(...nodes: Node[]) {
    this.childNodes.length = 0;
    for (const node of nodes) this.appendChild(node);
  }
  isEqualNode(node: Node): boolean {
    return this.localName === node.localName && this.textContent === node.textContent && this.dataset.source === node.dataset.source;
  }
  addEventListener(name: string, listener: Listener) { this.listeners[name] = listener; }
  removeEventListener(name: string) { delete this.listeners[name]; }
  querySelector() { return null; }
  closest() { return null; }
  focus() {}
  select() {}

  get textContent(): string { return this.nodeType === 3 ? this.data : this.childNodes.map((n) => n.textContent).join(''); }
  set textContent(text: string) { this.replaceChildren(page.createTextNode(text)); }
  /** This and all that is below, in the order of the document. */
  all(list: Node[] = []): Node[] {
    list.push(this);
    for (const child of this.childNodes) child.all(list);
    return list;
  }
  find(test: (node: Node) => boolean): Node[] { return this.all().filter(test); }
  fire(name: string, more: object = {}) {
    const listener = Object.entries(this.listeners).find(([n]) => n.toLowerCase() === name)?.[1];
    if (!listener) throw new Error(`<${this.localName}> does not listen to ${name}`);
    listener.call(this, { type: name, target: this, currentTarget: this, preventDefault() {}, stopPropagation() {}, ...more });
  }
}

const page = {
  createElement: (name: string) => new Node(name),
  createElementNS: (_: string, name: string) => new Node(name),
  getElementById: () => null,
  getSelection: () => null,
  addEventListener() {},
  createTextNode: (text: string) => Object.assign(new Node('#text', 3), { data: text }),
};
Object.assign(globalThis, { document: page, CSS: { escape: (s: string) => s } });
