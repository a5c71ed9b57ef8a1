// What makes tokens of texts.

/// Makes the tokens of texts, by which rows are found.
///
/// A text and a query are cut by the same tokenizer, so that what is asked for has the form of what is stored. The ones
/// that are built in are made by ``TextTokenizer``; an app's own conforms to this protocol.
///
/// The guide is <doc:Searching>.
public protocol Tokenizer: Sendable {
  /// What tells its tokens from those of all other tokenizers, such as `"words/1+english/1"`. It is stored with what is
  /// made of the tokens; where another one is found there, everything is built anew. To be changed whenever some text
  /// gives other tokens than before.
  var identity: String { get }

  /// Calls `body` with the tokens of a text in the order in which they begin.
  ///
  /// - Parameters:
  ///   - text: any bytes; those that are no UTF-8 are cut as U+FFFD is.
  ///   - purpose: what the tokens are for.
  ///   - body: gets the bytes of the token as they are compared, good until it returns, and where the token stands.
  /// - Throws: what `body` throws.
  func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws
}

/// What a text is cut for.
public enum TokenPurpose: Hashable, Sendable {
  /// To be found by its tokens.
  case document
  /// To find others: all tokens are wanted, next to each other as they stand here.
  case query
  /// To find others, as `query`: tokens of another text follow next to those of this one.
  case queryBeginning
}

/// Where a token stands in its text.
public struct TokenPlace: Hashable, Sendable {
  /// The bytes of the text that the token was made of.
  public var range: Range<Int>
  /// By how much its position is above that of the token before: 1; 0 for another form of the same word.
  public var step: Int
  /// Whether a query means all tokens that begin with this one.
  public var isPrefix: Bool

  /// A place in a text, by default that of a word of its own.
  public init(range: Range<Int>, step: Int = 1, isPrefix: Bool = false) {
    (self.range, self.step, self.isPrefix) = (range, step, isPrefix)
  }
}
