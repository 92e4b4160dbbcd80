//! Languages: invented words on top of real function words, in every encoding of the language.
//!
//! A vocabulary has 8,192 words in order of frequency. The first ones are real function words
//! (so that language detection has what it needs), the others are syllables of the language
//! put together at random; word `r` occurs with probability proportional to 1/(r + 2.7)
//! (Zipf–Mandelbrot). Sampling is one look-up in a table of 65,536 ranks. Words are kept in the
//! bytes of the target encoding, so that a page is written in it at once: the encoders of
//! `encoding_rs` for Chinese and Japanese search tables and would cost milliseconds a page.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use encoding_rs::Encoding;

use crate::rng::{Rng, mix};

/// Words in a vocabulary.
pub const WORDS: usize = 8192;

/// An encoding that a page may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// ISO 8859-1, which browsers read as windows-1252.
    Latin1,
    /// Windows, western Europe.
    Windows1252,
    /// ISO 8859-2, central Europe.
    Latin2,
    /// Windows, Cyrillic.
    Windows1251,
    /// KOI8-R, Russian.
    Koi8R,
    /// ISO 8859-7, Greek.
    Greek,
    /// Shift JIS.
    ShiftJis,
    /// EUC-JP.
    EucJp,
    /// GB 18030, Chinese.
    Gb18030,
    /// UTF-16, little endian, with its byte order mark.
    Utf16Le,
    /// UTF-16, big endian, with its byte order mark.
    Utf16Be,
    /// UTF-8 escaped for a URL's path.
    Percent,
}

const CHARSETS: usize = Charset::Percent as usize + 1;

impl Charset {
    /// The name by which a page declares it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Utf8 | Self::Percent => "utf-8",
            Self::Latin1 => "iso-8859-1",
            Self::Windows1252 => "windows-1252",
            Self::Latin2 => "iso-8859-2",
            Self::Windows1251 => "windows-1251",
            Self::Koi8R => "koi8-r",
            Self::Greek => "iso-8859-7",
            Self::ShiftJis => "shift_jis",
            Self::EucJp => "euc-jp",
            Self::Gb18030 => "gb18030",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }

    /// The encoding in which text is put together: UTF-16 is written as UTF-8 and turned at the end.
    #[must_use]
    pub const fn working(self) -> Self {
        match self {
            Self::Utf16Le | Self::Utf16Be => Self::Utf8,
            other => other,
        }
    }

    /// True for UTF-16, in which markup is not ASCII bytes.
    pub const fn wide(self) -> bool {
        matches!(self, Self::Utf16Le | Self::Utf16Be)
    }

    fn encode(self, text: &str) -> Vec<u8> {
        if self == Self::Percent {
            return text.bytes().fold(Vec::new(), |mut out, byte| {
                if byte.is_ascii_alphanumeric() {
                    out.push(byte);
                } else {
                    out.extend_from_slice(format!("%{byte:02X}").as_bytes());
                }
                out
            });
        }
        let encoding = Encoding::for_label(self.working().label().as_bytes());
        encoding.map_or_else(|| text.into(), |encoding| encoding.encode(text).0.into_owned())
    }
}

/// A language: its function words and what its other words are made of.
pub struct Language {
    /// ISO 639 code.
    pub code: &'static str,
    /// Encodings besides UTF-8 in which its pages are found.
    pub legacy: &'static [Charset],
    /// Words are set apart by spaces.
    pub spaced: bool,
    /// What ends a sentence.
    pub stop: &'static str,
    function_words: &'static str,
    onsets: &'static str,
    vowels: &'static str,
    codas: &'static str,
}

/// The languages; the first is the one of host names and most paths, and purely ASCII.
pub static LANGUAGES: [Language; 10] = [
    Language {
        code: "en",
        legacy: &[Charset::Windows1252, Charset::Latin1],
        spaced: true,
        stop: ".",
        function_words: "the of and to in is that for it as was with be by on not he this are or his from at which but have an they you were",
        onsets: "b bl br c ch cl cr d dr f fl g gr h j k l m n p pl pr qu r s sc sh sl st str t th tr v w wh",
        vowels: "a e i o u ai ea ee ou oa a e i o",
        codas: "- - - b ck d g l ll m n nd ng nt p r rd rn rt s ss st t th x",
    },
    Language {
        code: "fr",
        legacy: &[Charset::Latin1, Charset::Windows1252],
        spaced: true,
        stop: ".",
        function_words: "de la le et les des en un du une que est pour qui dans par sur pas plus ne au se avec ce il sont mais cette été à où",
        onsets: "b bl br c ch cl cr d f fl fr g gl gn gr j l m n p pl pr qu r s t tr v",
        vowels: "a e é è i o u ou eu oi ai au ê â",
        codas: "- - - - c l m n nt r s t x ç",
    },
    Language {
        code: "de",
        legacy: &[Charset::Latin1, Charset::Windows1252],
        spaced: true,
        stop: ".",
        function_words: "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach über",
        onsets: "b br d dr f fl g gr h k kl kr l m n pf r s sch schl sp st str t tr v w z zw",
        vowels: "a e i o u ä ö ü ei ie au eu a e i",
        codas: "- - ch ck f g l lt m n nd ng r rt s ß st t tz",
    },
    Language {
        code: "es",
        legacy: &[Charset::Latin1],
        spaced: true,
        stop: ".",
        function_words: "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si",
        onsets: "b br c ch d f g gr h j l ll m n ñ p pl pr qu r s t tr v z",
        vowels: "a e i o u á é í ó ú ie ue",
        codas: "- - - - - l n r s d z",
    },
    Language {
        code: "it",
        legacy: &[Charset::Windows1252],
        spaced: true,
        stop: ".",
        function_words: "di e il la che in a per un è del non una sono con si da come le dei nel alla più ha i o ma gli al anche",
        onsets: "b br c ch d f fr g gh gl gn gr l m n p pr qu r s sc sp st str t tr v z",
        vowels: "a e i o u à è ì ò ù ia io",
        codas: "- - - - - - l n r",
    },
    Language {
        code: "pl",
        legacy: &[Charset::Latin2],
        spaced: true,
        stop: ".",
        function_words: "w i na z do się nie to że jest o od po jak za przez co dla ale czy tak tym jego był oraz są przy ten może które",
        onsets: "b br c cz d dz f g gr h j k kr l ł m n ń p pr prz r rz s sz ś t tr w z ż ź",
        vowels: "a ą e ę i o ó u y",
        codas: "- - - ć j k l ł m n r s sz ść t w",
    },
    Language {
        code: "ru",
        legacy: &[Charset::Windows1251, Charset::Koi8R],
        spaced: true,
        stop: ".",
        function_words: "и в не на что он с как это по но из к у за от так же для был его то все она было только о еще бы мы",
        onsets: "б в вл г гр д др ж з к кр л м н п пр р с ск ст т тр ф х ц ч ш щ",
        vowels: "а е и о у ы э ю я",
        codas: "- - - в й к л м н р с т сть х",
    },
    Language {
        code: "el",
        legacy: &[Charset::Greek],
        spaced: true,
        stop: ".",
        function_words: "και το να του η της με που για την από είναι στο των ο τα σε δεν θα τον οι ότι στην μια ένα τους αλλά ως",
        onsets: "β γ γρ δ δρ ζ θ κ κρ λ μ ν ξ π πρ ρ σ στ τ τρ φ χ ψ",
        vowels: "α ε η ι ο υ ω ά έ ή ί ό ύ ώ ου αι ει",
        codas: "- - - - ν ρ ς λ",
    },
    Language {
        code: "ja",
        legacy: &[Charset::ShiftJis, Charset::EucJp],
        spaced: false,
        stop: "。",
        function_words: "の に は を た が で て と し れ さ ある いる も する から な こと として い や など なっ ない この ため その あっ よう",
        onsets: "日 本 人 国 年 大 出 中 生 会 学 時 事 自 社 発 者 地 業 方 新 場 員 立 開 手 力 問 代 明 動 京 目 通 言 理 体 田 主 題 意 不 作 用 度 強 公 持 野 以 思 家 世 多 正 安 院 心 界 教 文 元 重 近 考 画 海 売 知 道 集 別 物 使 品 計 死 特 私 始 朝 運 終 台 広 住 真 有 口 少 町 料 工 建 空 急 止 送 切 転 研 足 究 楽 起 着 店 病 質 待 試 族 銀 早 映 親 験 英 医 仕 去 味 写 字 答 夜 音 注 帰 古 歌 買 悪 図 週 室 歩 風 紙 黒 花 春 赤 青 館 屋 色 走 秋 夏 習 駅 洋 旅 服 夕 借 曜 飲 肉 貸 堂 鳥 飯 勉 冬 昼 茶 弟 牛 魚 兄 犬 妹 姉 漢 カ メ ラ ス テ ム デ ン ト ロ",
        vowels: "-",
        codas: "- - - - - - る い き し く",
    },
    Language {
        code: "zh",
        legacy: &[Charset::Gb18030],
        spaced: false,
        stop: "。",
        function_words: "的 一 是 不 了 在 人 有 我 他 这 个 们 中 来 上 大 为 和 国 地 到 以 说 时 要 就 出 会 可",
        onsets: "也 你 对 生 能 而 子 那 得 于 着 下 自 之 年 过 发 后 作 里 用 道 行 所 然 家 种 事 成 方 多 经 么 去 法 学 如 都 同 现 当 没 动 面 起 看 定 天 分 还 进 好 小 部 其 些 主 样 理 心 她 本 前 开 但 因 只 从 想 实 日 军 者 意 无 力 它 与 长 把 机 十 民 第 公 此 已 工 使 情 明 性 知 全 三 又 关 点 正 业 外 将 两 高 间 由 问 很 最 重 并 物 手 应 战 向 头 文 体 政 美 相 见 被 利 什 二 等 产 或 新 己 制 身 果 加 西 斯 月 话 合 回 特 代 内 信 表 化 老 给 世 位 次 度 门 任 常 先 海 通 教 儿 原 东 声 提 立 及 比 员 解 水 名 真 论 处 走 义 各 入 几 口 认 条 平 系 气 题 活 尔 更 别 打 女 变 四 神 总 何 电 数 安 少 报 才 结 反 受 目 太 量 再 感 建 务 做 接 必 场 件 计 管 期 市 直 德 资 命 山 金 指 克 许 统 区 保 至 队 形 社 便 空 决 治 展 马 科 司 五 基 眼 书 非 则 听 白 却 界 达 光 放 强 即 像 难 且 权 思 王 象 完 设 式 色 路 记 南 品 住 告 类 求 据 程 北 边 死 张 该 交 规 万 取 拉 格 望 觉 术 领 共 确 传 师 观 清 今 切 院 让 识 候 带 导 争 运",
        vowels: "-",
        codas: "-",
    },
];

impl Language {
    /// The words, most frequent first, all different.
    fn words(&self, seed: u64) -> Vec<String> {
        let part = |list: &'static str| -> Vec<&'static str> {
            list.split(' ').map(|unit| if unit == "-" { "" } else { unit }).collect()
        };
        let (onsets, vowels, codas) = (part(self.onsets), part(self.vowels), part(self.codas));
        let mut words: Vec<String> = Vec::with_capacity(WORDS);
        let mut seen: HashSet<String> = HashSet::with_capacity(WORDS);
        let mut keep = |word: String, words: &mut Vec<String>| {
            if seen.insert(word.clone()) {
                words.push(word);
            }
        };
        for word in self.function_words.split(' ') {
            keep(word.into(), &mut words);
        }
        let mut rng = Rng::new(seed, mix(0x1a96, u64::from(self.code.as_bytes()[0])));
        while words.len() < WORDS {
            let longest = 1 + (words.len().ilog2() / 4).min(3);
            let syllables = 1 + rng.below(u64::from(longest));
            let mut word = String::new();
            for _ in 0..syllables {
                for units in [&onsets, &vowels, &codas] {
                    word.push_str(units[rng.below(units.len() as u64) as usize]);
                }
            }
            keep(word, &mut words);
        }
        words
    }
}

/// The words of one language in the bytes of one encoding.
pub struct Vocabulary {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// The end of a sentence.
    pub stop: Vec<u8>,
    /// Words are set apart by spaces.
    pub spaced: bool,
}

impl Vocabulary {
    fn new(words: &[String], language: &Language, charset: Charset) -> Self {
        let mut known: HashMap<char, Vec<u8>> = HashMap::new();
        let mut bytes = Vec::with_capacity(WORDS * 8);
        let ends = words
            .iter()
            .map(|word| {
                for letter in word.chars() {
                    let code = known
                        .entry(letter)
                        .or_insert_with(|| charset.encode(letter.encode_utf8(&mut [0; 4])));
                    bytes.extend_from_slice(code);
                }
                bytes.len() as u32
            })
            .collect();
        let stop = charset.encode(language.stop);
        Self { bytes, ends, stop, spaced: language.spaced }
    }

    /// The word of a rank, taken modulo the size of the vocabulary.
    pub fn word(&self, rank: u64) -> &[u8] {
        let rank = rank as usize % WORDS;
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        &self.bytes[start as usize..self.ends[rank] as usize]
    }
}

/// Every vocabulary of a web, each made when first asked for.
pub struct Lexicon {
    seed: u64,
    zipf: Vec<u16>,
    words: [OnceLock<Vec<String>>; LANGUAGES.len()],
    encoded: [[OnceLock<Vocabulary>; CHARSETS]; LANGUAGES.len()],
}

impl Lexicon {
    /// The vocabularies of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            zipf: zipf(),
            words: std::array::from_fn(|_| OnceLock::new()),
            encoded: std::array::from_fn(|_| std::array::from_fn(|_| OnceLock::new())),
        }
    }

    /// A language's words in an encoding.
    pub fn vocabulary(&self, language: usize, charset: Charset) -> &Vocabulary {
        self.encoded[language][charset as usize].get_or_init(|| {
            let language_of = &LANGUAGES[language];
            let words = self.words[language].get_or_init(|| language_of.words(self.seed));
            Vocabulary::new(words, language_of, charset)
        })
    }

    /// The rank that 16 random bits stand for.
    pub fn rank(&self, bits: u16) -> u64 {
        u64::from(self.zipf[bits as usize])
    }
}

/// Ranks at the 65,536 quantiles of the Zipf–Mandelbrot distribution.
fn zipf() -> Vec<u16> {
    let weight = |rank: usize| 1.0 / (rank as f64 + 2.7);
    let total: f64 = (0..WORDS).map(weight).sum();
    let (mut rank, mut below) = (0, weight(0));
    (0..=u16::MAX)
        .map(|bits| {
            let quantile = (f64::from(bits) + 0.5) / 65536.0 * total;
            while below < quantile && rank + 1 < WORDS {
                rank += 1;
                below += weight(rank);
            }
            rank as u16
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_every_language_survives_each_of_its_encodings() {
        let lexicon = Lexicon::new(7);
        for (index, language) in LANGUAGES.iter().enumerate() {
            let plain = lexicon.vocabulary(index, Charset::Utf8);
            for &charset in language.legacy {
                let encoding = Encoding::for_label(charset.label().as_bytes()).unwrap();
                let coded = lexicon.vocabulary(index, charset);
                for rank in 0..WORDS as u64 {
                    let (text, _, broken) = encoding.decode(coded.word(rank));
                    assert!(!broken, "{} {}", language.code, charset.label());
                    assert_eq!(text.as_bytes(), plain.word(rank), "{}", language.code);
                }
            }
        }
    }

    #[test]
    fn the_words_of_paths_are_ascii_letters() {
        let lexicon = Lexicon::new(7);
        let words = lexicon.vocabulary(0, Charset::Utf8);
        assert!((0..WORDS as u64).all(|rank| words.word(rank).iter().all(u8::is_ascii_lowercase)));
        let escaped = lexicon.vocabulary(6, Charset::Percent);
        assert_eq!(escaped.word(0), b"%D0%B8");
    }

    #[test]
    fn frequent_words_are_drawn_as_zipf_says() {
        let lexicon = Lexicon::new(7);
        let mut counts = vec![0u32; WORDS];
        for bits in 0..=u16::MAX {
            counts[lexicon.rank(bits) as usize] += 1;
        }
        let ratio = f64::from(counts[0]) / f64::from(counts[97]);
        assert!((ratio - 99.7 / 2.7).abs() < 1.5, "{ratio}");
        assert!(counts.iter().filter(|&&count| count == 0).count() < WORDS / 3);
    }
}
