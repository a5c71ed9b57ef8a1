// The versions that extensions are stored under.

/// A view or a relationship that takes part in all collections says nowhere which these are. When they have become
/// others, it has to be built anew, so they are a part of its stored version.
enum StoredVersion {
  /// What stands behind an app's own version: 16 digits that follow from the names, which are in order.
  static func suffix(_ collections: [String]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for name in collections {
      // The byte 0xff, which is in no text, ends each name.
      for byte in Array(name.utf8) + [0xff] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
    let digits = String(hash, radix: 16)
    return "#" + String(repeating: "0", count: 16 - digits.count) + digits
  }
}
