// What an app tells its types while they are encoded and decoded.

/// The `userInfo` of a coder.
@usableFromInline final class CoderUserInfo: Sendable {
  let values: [CodingUserInfoKey: any Sendable]

  init(_ values: [CodingUserInfoKey: any Sendable]) { self.values = values }
}

extension RowCoder {
  /// The same coder, whose encoders and decoders have `userInfo`: for types that ask for something while they are
  /// coded, like a formatter, or what interns their strings. For binary, JSON and property lists; upgrades see it,
  /// too. The others have no use for it.
  ///
  /// ```swift
  /// let coder = RowCoder<Song>.json.withUserInfo([.genres: genres])
  /// ```
  ///
  /// It must not decide about the bytes: who reads rows without the app's types has none. Where descriptions
  /// of one collection differ in it, the one that a transaction uses first decides. Constant time.
  public func withUserInfo(_ userInfo: [CodingUserInfoKey: any Sendable]) -> Self {
    var values = values
    values.userInfo = userInfo.isEmpty ? nil : CoderUserInfo(userInfo)
    return Self(values)
  }
}
