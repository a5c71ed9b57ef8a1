// Which collections an extension cares for.

/// What is allowed: some things and no others, all but some, or what a block says. New type: `CollectionFilter`.
public struct YapWhitelistBlacklist<Item: Hashable & Sendable>: Sendable {
  private let allows: @Sendable (Item) -> Bool
  /// All that is allowed, where that is known.
  let whitelist: Set<Item>?

  /// These and no others; nil allows nothing. New call: `CollectionFilter.only(_:)`.
  public init(whitelist: Set<Item>?) {
    self.whitelist = whitelist ?? []
    allows = { whitelist?.contains($0) ?? false }
  }

  /// All but these; nil allows everything. New call: `CollectionFilter.except(_:)`.
  public init(blacklist: Set<Item>?) {
    whitelist = nil
    allows = { !(blacklist?.contains($0) ?? false) }
  }

  /// What `filterBlock` says, each time. New call: `CollectionFilter.matching(_:)`.
  public init(filterBlock: @escaping @Sendable (Item) -> Bool) {
    whitelist = nil
    allows = filterBlock
  }

  /// Whether something is allowed. New call: `CollectionFilter.contains(_:)`.
  public func isAllowed(_ item: Item) -> Bool { allows(item) }
}
