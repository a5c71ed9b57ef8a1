// Which trees a damaged database has.

/// The catalog, as far as it can be read, and what leaves and log tell of trees that it does not name.
struct SalvageCatalog {
  /// A tree.
  struct Entry {
    var name: String?
    /// Its root, or its id and kind of keys alone.
    var root: TreeRoot
    var isRootKnown: Bool
    /// Whether nothing shows that the root is the newest.
    var isStale = false
  }

  private(set) var entries: [TreeID: Entry] = [:]
  /// What of the catalog is lost.
  private(set) var losses: [SalvageLoss] = []
  /// The commit that the newest of its leaves is of.
  private(set) var newestBirth: UInt64 = 0

  /// Whether nothing of it is lost.
  var isWhole: Bool { losses.isEmpty }

  /// Reads the catalog below `root`; without one, all pages are looked at for its leaves.
  init(_ file: SalvageFile, _ root: TreeRoot?) {
    let empty = TreeRoot(id: TreeID(0), keyKind: .int64)
    var (found, broken, outcomes): ([TreeID: Entry], Int, [SalvageFile.Outcome]) = ([:], 0, [])
    var newest: UInt64 = 0
    do {
      // It has few entries, and older versions as many: only what they name shows whether they are the newest.
      try file.forEachEntry(
        of: root ?? empty, isRootKnown: root != nil, believesFreeMap: false, includesStale: true
      ) { page, index, standing, _ in
        newest = max(newest, page.birth)
        guard let entry = Catalog.entry(index, of: page, pageCount: file.pages.store.pageCount) else {
          broken += 1
          return false
        }
        let isKnown = standing == .current || Self.isUsable(entry.root, namedIn: page, file)
        // A page in use is of the newest state, and so is what it leads to.
        let isStale = standing != .current && file.liveness.free == nil
        found[entry.root.id] = Entry(name: entry.name, root: entry.root, isRootKnown: isKnown, isStale: isStale)
        return true
      } lost: {
        outcomes.append($0)
      }
    } catch {
      // Nothing above throws.
      assertionFailure("reading the catalog fails with \(error)")
    }
    entries = found
    newestBirth = newest
    for outcome in outcomes where !outcome.isComplete { lose(outcome.gap, outcome.lostCount) }
    if broken > 0 { lose(nil, broken) }
    if !isWhole { addFoundTrees(file) }
  }

  /// Whether the root that an old leaf of the catalog names is still that of the tree: it verifies, at a place that is
  /// in use. Where no free map tells that, no leaf of the tree must be newer: what an old root leads to may be whole,
  /// and would hide it.
  private static func isUsable(_ root: TreeRoot, namedIn leaf: PageBytes, _ file: SalvageFile) -> Bool {
    func isNewest(_ birth: UInt64) -> Bool {
      file.scan.leaves(of: root.id, root.keyKind).allSatisfy { $0.birth <= birth }
    }
    guard !root.reference.isNone else { return file.liveness.free == nil && isNewest(leaf.birth) }
    let page = file.pages.makeBuffer()
    defer { page.base.deallocate() }
    let number = root.reference.rawValue
    do throws(SalvageDefect) {
      let isProven = try file.pages.load(number, checksum: root.checksum, into: page)
      if file.liveness.free == nil { return isNewest(page.birth) }
      return isProven && file.liveness.isCurrent(number, birth: page.birth)
    } catch {
      return false
    }
  }

  private mutating func lose(_ gap: SalvageGap?, _ count: Int?) {
    losses.append(
      SalvageLoss(
        kind: .catalog, tree: nil, page: gap?.page, lower: gap?.lower, upper: gap?.upper, count: count,
        reason: "A part of the catalog is lost: \(gap?.reason ?? "\(count ?? 0) entries break the format")"))
  }

  /// Adds the trees that leaves are of and that no entry names.
  private mutating func addFoundTrees(_ file: SalvageFile) {
    file.scan.forEachTree { leaves in
      guard let first = leaves.first, first.tree != 0, entries[TreeID(first.tree)] == nil else { return }
      let isHere =
        file.liveness.free == nil || leaves.contains { file.liveness.isCurrent($0.page, birth: $0.birth) }
      if isHere { add(TreeID(first.tree), first.keyKind, name: nil, isRootKnown: false) }
    }
  }

  private mutating func add(_ tree: TreeID, _ keyKind: KeyKind, name: String?, isRootKnown: Bool) {
    entries[tree] = Entry(name: name, root: TreeRoot(id: tree, keyKind: keyKind), isRootKnown: isRootKnown)
  }

  /// Applies what the log says of trees.
  mutating func apply(_ log: SalvageLog) {
    for tree in log.dropped { entries[tree] = nil }
    for (tree, made) in log.created {
      if entries[tree] == nil { add(tree, made.keyKind, name: made.name, isRootKnown: true) }
      if entries[tree]?.name == nil { entries[tree]?.name = made.name }
    }
    guard !isWhole else { return }
    for (tree, changes) in log.changes where entries[tree] == nil {
      add(tree, changes.keyKind, name: nil, isRootKnown: false)
    }
  }
}
