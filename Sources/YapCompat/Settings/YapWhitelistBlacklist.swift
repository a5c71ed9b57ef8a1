// Which collections an extension cares for.

internal import Quire

/// What is allowed: some things and no others, all but some, or what a block says. New type: `CollectionFilter`.
public struct YapWhitelistBlacklist<Item: Hashable & Sendable>: Sendable {
  private let allows: @Sendable (Item) -> Bool
  /// All that is allowed, and all that is not, where that is known.
  let whitelist: Set<Item>?
  let blacklist: Set<Item>?

  /// These and no others; nil allows nothing. New call: `CollectionFilter.only(_:)`.
  public init(whitelist: Set<Item>?) {
    self.whitelist = whitelist ?? []
    self.blacklist = nil
    allows = { whitelist?.contains($0) ?? false }
  }

  /// All but these; nil allows everything. New call: `CollectionFilter.except(_:)`.
  public init(blacklist: Set<Item>?) {
    whitelist = nil
    self.blacklist = blacklist ?? []
    allows = { !(blacklist?.contains($0) ?? false) }
  }

  /// What `filterBlock` says, each time. New call: `CollectionFilter.matching(_:)`.
  @preconcurrency public init(filterBlock: @escaping @Sendable (Item) -> Bool) {
    whitelist = nil
    blacklist = nil
    allows = filterBlock
  }

  /// Whether something is allowed. New call: `CollectionFilter.contains(_:)`.
  public func isAllowed(_ item: Item) -> Bool { allows(item) }
}

extension YapWhitelistBlacklist: Equatable {
  /// Whether both list the same; what blocks say is never known to be the same.
  public static func == (left: Self, right: Self) -> Bool {
    (left.whitelist != nil || left.blacklist != nil) && left.whitelist == right.whitelist
      && left.blacklist == right.blacklist
  }
}

extension YapWhitelistBlacklist<String> {
  /// The same as a filter of collections, which keeps the names that are known.
  var filter: CollectionFilter {
    if let whitelist { return .only(whitelist) }
    if let blacklist { return .except(blacklist) }
    return .matching { isAllowed($0) }
  }
}
