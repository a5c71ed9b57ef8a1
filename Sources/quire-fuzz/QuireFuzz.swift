// The developers' tool that looks for bytes which a database does not stand, guided by the code that they run.
//
// Built as everything else, it runs a corpus. With `-D FUZZER` and with coverage it is a program of libFuzzer as well:
// see `Reliability.md`.

internal import ArgumentParser

/// `quire-fuzz`: hostile bytes, one input at a time.
@main
struct QuireFuzz: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quire-fuzz",
    abstract: "Gives hostile bytes to the engine and to databases, and says what they did that they must not do.",
    subcommands: commands)

  #if FUZZER
    private static let commands: [any ParsableCommand.Type] = always + [Fuzz.self]

    /// Processes that libFuzzer starts have its arguments only, and find the target in the environment.
    static func main() {
      if Fuzz.isInherited { Fuzz.drive(CommandLine.arguments) }
      main(nil)
    }
  #else
    private static let commands: [any ParsableCommand.Type] = always
  #endif

  private static let always: [any ParsableCommand.Type] = [RunCorpus.self, RunFile.self, MakeCorpus.self] + codecs

  #if canImport(CLZ4) && !canImport(Musl)
    private static let codecs: [any ParsableCommand.Type] = [CompareCodecs.self]
  #else
    private static let codecs: [any ParsableCommand.Type] = []
  #endif
}
